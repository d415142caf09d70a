"""Command lines that ask for what does not go together: one clear message each, by its rule."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from launchers.cli.main import ended
from tests.cli.command import Launch

HVD = "import horovod.tensorflow as hvd\nhvd.init()\n"
SWEEP = "sweep:\n  matrix:\n    instances: [2, 3]\n"
CLOUD = ("sagemaker", "train.py", "--gpus", "4")

REFUSED = [
    (("local", "train.py", "--dry-run=docker"), "", "no-rehearsal"),
    ((*CLOUD, "--dry-run", "--ranks-per-host", "1"), "", "flag-alone"),
    ((*CLOUD, "--dry-run", "--max-parallel", "2"), "", "flag-sweep"),
    (("local", "train.py", "--instances", "2"), SWEEP, "sweep-local"),
    ((*CLOUD, "--dry-run=docker"), SWEEP, "sweep-rehearsal"),
    (("local", "../elsewhere/train.py", "--source", "."), "", "script-outside-source"),
    (("local", "~no-such-user/train.py"), "", "script-missing"),
    (("local", "train.py", "--source", "~no-such-user"), "", "source-missing"),
    (("local", "train.py", "--requirements", "~no-such-user/r.txt"), "", "requirements-missing"),
]


@pytest.mark.parametrize(("words", "file", "rule"), REFUSED, ids=[row[-1] for row in REFUSED])
def test_it_is_refused_before_anything_starts(
    launch: Launch, words: tuple[str, ...], file: str, rule: str
):
    launch.write("train.py", HVD)
    launch.write("../elsewhere/train.py", HVD)
    if file:
        launch.write("launch.yaml", file)
    answer = launch(*words)
    assert answer.code == 2
    assert f"[{rule}]" in answer.err
    assert launch("list").err.startswith("no jobs yet")


@pytest.mark.parametrize("source", [(), ("--source", "linked")], ids=["alone", "--source"])
def test_a_link_out_of_the_source_is_refused_with_the_command_that_works(
    launch: Launch, source: tuple[str, ...]
):
    launch.write("real folder/ok.py", "print()\n")
    launch.write("linked/other.py", "print()\n")
    (launch.folder / "linked" / "link.py").symlink_to("../real folder/ok.py")
    answer = launch("local", "linked/link.py", *source, "--dry-run")
    assert (answer.code, "[script-outside-source]" in answer.err) == (2, True)
    assert "linked/link.py is a link to " in answer.err
    fix = shlex.split(answer.err.splitlines()[0].partition("name the file itself: launch ")[2])
    tried = launch(*fix, "--dry-run")
    assert (tried.code, tried.json["script"]) == (0, "ok.py")
    around = launch("local", "linked/link.py", "--source", ".", "--dry-run")
    assert (around.code, around.json["script"]) == (0, "real folder/ok.py")


NEEDY = (
    "local q.py", "local -m a.b", "local", f"local {__file__}",
    "scaling local q.py --instances 1,2", "sagemaker q.py --gpus 1 --dry-run",
    "vertex q.py --gpus 1 --image a:b --dry-run",
    "spark q.py --master local[2] --dry-run", "check q.json", "init", "doctor --offline",
    "import q.yaml", "rehearse q.json", "data parquet in out", "image build",
)  # fmt: skip


@pytest.fixture
def gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PWD", str(folder))
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path / "home"))
    folder.rmdir()
    return folder


@pytest.mark.parametrize("line", NEEDY)
def test_in_a_folder_that_was_deleted_one_message_says_where_to_go(
    gone: Path, capsys: pytest.CaptureFixture[str], line: str
):
    assert ended(line.split()) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "[working-folder]" in told
    assert told.endswith(f"cd {gone.parent}")


@pytest.mark.parametrize("line", ["list", "--help", "local --help", "explain usage", "schema"])
def test_what_needs_no_folder_works_where_it_was_deleted(gone: Path, line: str):
    assert ended(line.split()) == 0


def test_a_rehearsal_without_an_engine_is_refused_by_preflight(launch: Launch):
    launch.write("train.py", HVD)
    answer = launch(*CLOUD, "--dry-run=docker", DOCKER_HOST="unix:///nosuch/docker.sock")
    assert answer.code == 4
    assert "[docker-engine]" in answer.err
