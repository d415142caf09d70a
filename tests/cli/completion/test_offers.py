"""What the tab key offers, asked as each shell asks it: offline, without a word of an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from launchers.cli.completion import VARIABLE, answer
from launchers.cli.completion.answer import SHELLS
from launchers.cli.main import cli, split
from launchers.cli.verb_table import VERBS
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from launchers.core.strategies import NAMES


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    (project / "launch.yaml").write_text("profiles:\n  prod: {gpus: 4}\n  dev: {gpus: 1}\n")
    return tmp_path


@pytest.fixture
def jobs(home: Path) -> None:
    ledger = Ledger(home)
    for at, (name, state) in enumerate(
        [
            ("train-0badcafe-1", "failed"),
            ("train-0badcafe-2", "running"),
            ("other-12345678-1", "lost"),
        ]
    ):
        ledger.add(Entry(name, "sagemaker", name[:-2], 1, 8, "{}", state, created=at + 1.0))


def asked(shell: str) -> ShellComplete:
    return answer.asked(shell, cli, split)


def offered(line: str, shell: str = "bash") -> list[str]:
    """The words for the last one of ``line``; a blank at its end asks for a new one."""
    words = line.split(" ")
    return [item.value for item in asked(shell).get_completions(words[1:-1], words[-1])]


def kinds(line: str) -> set[str]:
    words = line.split(" ")
    return {item.type for item in asked("bash").get_completions(words[1:-1], words[-1])}


@pytest.mark.parametrize("shell", SHELLS)
def test_verbs_are_offered_without_importing_one(shell: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("launchers.cli.main.importlib.import_module", None)
    assert offered("launch ", shell) == [*VERBS]
    assert offered("launch st", shell) == ["status"]


@pytest.mark.parametrize("verb", ["status", "logs", "wait", "cancel"])
def test_jobs_of_the_ledger_are_offered_the_newest_first(jobs: None, verb: str):
    assert offered(f"launch {verb} ") == [
        "other-12345678-1",
        "train-0badcafe-2",
        "train-0badcafe-1",
    ]
    assert offered(f"launch {verb} tr") == ["train-0badcafe-2", "train-0badcafe-1"]
    states = [item.help for item in asked("zsh").get_completions([verb], "tr")]
    assert states == ["running", "failed"]


def test_asking_for_jobs_makes_no_ledger_and_minds_no_damaged_one(home: Path):
    assert offered("launch status ") == []
    assert [path.name for path in home.iterdir()] == ["project"]
    (home / "ledger.db").write_bytes(b"this is no database")
    assert offered("launch status ") == []


@pytest.mark.parametrize(
    ("line", "word", "never"),
    [
        ("launch sagemaker --machine ml.p4", "ml.p4d.24xlarge", "ml.g5.xlarge"),
        ("launch vertex --machine = g2-", "g2-standard-4", "n1-standard-4"),
        ("launch sagemaker --region eu-", "eu-west-1", "us-east-1"),
        ("launch vertex --location ", "us-central1", "us-east-1"),
        ("launch status x --region ", "us-central1", "docker"),
        ("launch local --strategy ", "torch", "docker"),
        ("launch local --proof s", "strict", "init"),
        ("launch sagemaker --dry-run=", "docker", "print"),
        ("launch sagemaker --dry-run = ", "docker", "print"),
        ("launch sagemaker --dry-run --re", "--region", "--role"),
        ("launch explain spot-", "spot-wait", "world-size"),
        ("launch help ", "exit-codes", "docker"),
        ("launch help ", "sagemaker", "docker"),
        ("launch list --provider ", "local", "docker"),
        ("launch machines --provider ", "vertex", "local"),
        ("launch image ", "build", "status"),
        ("launch data ", "parquet", "build"),
        ("launch data parquet a b --engine ", "spark", "header"),
        ("launch data info food --", "--ranks", "--engine"),
        ("launch sagemaker -p p", "prod", "dev"),
        ("launch vertex --notify d", "desktop", "none"),
        ("launch completion install --shell ", "fish", "docker"),
        ("launch check --report ", "sarif", "docker"),
    ],
)
def test_values_are_those_of_their_flag(line: str, word: str, never: str):
    found = offered(line)
    assert word in found
    assert never not in found


def test_every_strategy_is_offered():
    assert offered("launch sagemaker --strategy ") == ["auto", *NAMES]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("launch local tr", "file"),
        ("launch local --source ", "dir"),
        ("launch sagemaker -f ", "file"),
        ("launch check ", "file"),
        ("launch init ", "dir"),
        ("launch data info ", "dir"),
        ("launch local train.py -- --data ", "file"),
        ("launch local train.py -- --", "file"),
    ],
)
def test_paths_are_left_to_the_shell_and_so_are_the_scripts_own_words(line: str, kind: str):
    assert kinds(line) == {kind}


def test_a_flag_behind_the_separator_is_none_of_ours():
    assert "--region" in offered("launch sagemaker train.py --reg")
    assert offered("launch sagemaker train.py -- --reg") == ["--reg"]


@pytest.mark.parametrize(
    "line",
    ["launch sagmaker ", "launch list --limit x --state ", "launch vertex --nonsense x --re"],
)
def test_a_line_that_is_wrong_so_far_gets_no_word_of_an_error(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv(VARIABLE, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    assert answer.complete(cli, split) in (0, 1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("asked_for", ["", "bash", "tcsh_complete", "bash_source"])
def test_what_no_script_of_ours_asks_is_not_answered(
    asked_for: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv(VARIABLE, asked_for)
    assert answer.complete(cli, split) == 1
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("verb", ["status", "sagemaker", "vertex"])
@pytest.mark.processes
def test_no_cloud_is_asked_and_no_sdk_imported(verb: str, jobs: None):
    import subprocess
    import sys

    program = (
        "import sys, socket; socket.socket.connect = None\n"
        "from launchers.cli.completion.answer import asked\n"
        "from launchers.cli.main import cli, split\n"
        f"found = asked('bash', cli, split).get_completions(['{verb}', '--region'], '')\n"
        "assert found\n"
        "bad = {'boto3', 'google.auth', 'docker', 'rich', 'pydantic'} & {*sys.modules}\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
