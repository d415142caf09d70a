"""Every screen on terminals of 80 and of 200 columns: no line is wider, no name is cut."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest

from launchers.cli import topics
from launchers.cli.main import cli, ended
from launchers.cli.verb_table import VERBS
from launchers.core.model.jobs import FINAL_STATES
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from launchers.core.registry import PROVIDERS
from tests.cli.command import WARM, Launch
from tests.cli.screens import shown, too_wide
from tests.cli.terminal import on_terminal, plain
from tests.data.made import place as data_place

NARROW, WIDE = 80, 200
REASON = (
    "rank 3 failed first: ValueError: the shapes (1, 2) and (3,) do not fit, while the others "
    "waited in all_reduce; its log has more"
)
JOBS = ["train-9bfa1234-1", "image-classifier-of-the-whole-team-0badcafe-12", "x-12345678-3"]
DOCUMENT = {
    "TrainingJobName": "train",
    "AlgorithmSpecification": {"TrainingImage": "x", "TrainingInputMode": "File"},
    "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30},
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "LAUNCH_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path / "home"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text("import horovod.tensorflow as hvd\nhvd.init()\n")
    (project / "job.json").write_text(json.dumps(DOCUMENT))
    wide = ["a class whose name is a whole sentence", "b"]
    data_place(project / "food", {"train": [256] * 40, "validation": [100], "test": [7]}, wide)
    monkeypatch.chdir(project)
    (tmp_path / "home").mkdir()
    ledger = Ledger(tmp_path / "home")
    for at, (name, state) in enumerate(zip(JOBS, sorted(FINAL_STATES), strict=False)):
        where = ("sagemaker", "vertex", "local")[at]
        entry = Entry(name, where, name.rpartition("-")[0], 1, 8, "{}", created=time.time() - 60)
        ledger.add(entry)
        # Its progress is known, so that no cloud is asked for it.
        details = {"folder": str(tmp_path), "progress": None}
        ledger.update(entry, state=state, reason=REASON, details=details)
    return tmp_path


Terminal = Callable[..., str]


@pytest.fixture
def terminal(warm_command: None, place: Path) -> Terminal:
    """Runs a command on a terminal of the kernel's and gives what stands there in the end."""
    launch = Launch(place / "home", place / "project")
    variables = launch.environment({"TERM": "xterm", "HOME": str(place)})
    variables.pop("COLUMNS", None)

    def run(columns: int, words: list[str], out: str = "") -> str:
        file = str(launch.folder / out) if out else ""
        code, text = WARM.on_terminal(words, launch.folder, variables, columns, file)
        assert code in (0, 1, 2, 3, 4, 5)
        assert "[internal-error]" not in text
        return plain(text)

    return run


def helps() -> Iterator[list[str]]:
    yield ["--help"]
    yield []
    with click.Context(cli) as context:
        for name in VERBS:
            command = cli.get_command(context, name)
            yield [name, "--help"]
            if isinstance(command, click.Group):
                yield [name]
                yield from ([name, inner, "--help"] for inner in command.commands)
                yield from ([name, inner, "--help-all"] for inner in rare_flags(command))
    yield from ([name, "--help-all"] for name in PROVIDERS)
    yield ["help"]
    yield from (["help", name] for name in topics.names())


def rare_flags(group: click.Group) -> Iterator[str]:
    for name, command in group.commands.items():
        if any("--help-all" in one.opts for one in command.params):
            yield name


SCREENS = [
    *helps(),
    ["list"],
    *(["status", name] for name in JOBS),
    ["machines"],
    ["machines", "--provider", "vertex", "--gpus", "8"],
    ["explain"],
    ["explain", "spot-wait"],
    ["check", "job.json"],
    ["check", "job.json", "--world-size", "8", "--strict"],
    ["init", "new"],
    ["schema", "--list"],
    ["completion", "install", "--shell", "zsh"],
    ["data", "info", "food"],
    ["logs", JOBS[2]],
    ["cancel", JOBS[2]],
    ["wait", JOBS[2]],
    ["notify", "--test", "--to", "command:true"],
    pytest.param(["doctor", "local"], marks=pytest.mark.processes),
    ["doctor", "spark", "--offline"],
    ["doctor", "vertex", "--offline", "--bundle"],
    ["scaling", "local", "train.py", "--processes", "1,2", "--dry-run"],
    # what goes wrong
    ["run", "train.py"],
    ["status"],
    ["scaling", "train.py"],
    ["scaling", "local", "train.py"],
    ["scaling", "sagemaker", "train.py", "--gpus", "1,4", "--price", "x", "--dry-run"],
    ["spark", "train.py", "--dry-run"],
    ["spark", "train.py", "--master", "local[2]", "--instances", "2", "--dry-run"],
    ["data", "parquet", "nosuch", "out"],
    ["import", "nosuch.yaml"],
    ["image", "diff", "a:1", "b:1"],
    ["notify", "--test"],
    ["nosuch"],
    ["status", "nosuch"],
    ["help", "nosuch"],
    ["list", "--state", "nosuch"],
    ["sagemaker", "--no-file", "--intances", "2"],
    ["sagemaker", "train.py", "--gpus", "3", "--instances", "x", "--role", "me"],
    ["rehearse", "job.json"],
    ["rehearsals"],
    *(["doctor", subject, "--offline"] for subject in ("docker", "sagemaker", "vertex")),
    ["image", "check", "debian"],
    ["data", "info", "nosuch"],
    ["data", "info", "food", "--ranks", "64"],
    ["data", "show", "food", "--split", "nosuch"],
]
PLANS = [
    ["sagemaker", "train.py", "--instances", "2", "--gpus", "4", "--dry-run"],
    ["vertex", "train.py", "--instances", "2", "--gpus", "4", "--image", "a/b:1", "--dry-run"],
    ["sagemaker", "train.py", "--epochs", "3", "--instances", "2", "--gpus", "4", "--dry-run"],
    ["local", "train.py", "--instances", "2", "--gpus", "0", "--dry-run"],
    ["spark", "train.py", "--master", "local[2]", "--processes", "2", "--dry-run"],
    ["scaling", "sagemaker", "train.py", "--gpus", "1,4", "--price", "4", "--dry-run"],
]


@pytest.mark.parametrize("words", SCREENS, ids=lambda words: " ".join(words) or "launch")
def test_no_line_is_wider_than_the_terminal(words: list[str], terminal: Terminal):
    for columns in (NARROW, WIDE):
        text = terminal(columns, words)
        assert text.strip()
        assert "Traceback" not in text
        assert too_wide(text, columns) == []


@pytest.mark.parametrize("words", PLANS, ids=" ".join)
def test_no_line_of_a_plan_is_wider_than_the_terminal(words: list[str], terminal: Terminal):
    texts = {columns: terminal(columns, words, "request.json") for columns in (NARROW, WIDE)}
    for columns, text in texts.items():
        assert too_wide(text, columns) == []
    assert len(texts[NARROW].splitlines()) > len(texts[WIDE].splitlines())
    # Nothing but the places of the line ends differs.
    assert texts[NARROW].split() == texts[WIDE].split()


def test_every_job_is_listed_by_its_whole_name(monkeypatch: pytest.MonkeyPatch):
    narrow, wide = (shown(monkeypatch, columns, ["list"]) for columns in (NARROW, WIDE))
    for text in (narrow, wide):
        assert {*JOBS} <= {*text.split()}
    assert "not shown at 80 columns: " in narrow
    assert "not shown" not in wide
    assert {"JOB", "WHERE", "STATE", "RANKS", "STARTED", "RAN", "REASON"} <= {*wide.split()}
    assert "RAN" not in narrow.splitlines()[0].split()


@pytest.mark.parametrize("name", ["sagemaker", "vertex"])
def test_every_machine_is_shown_by_its_whole_name(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert ended(["machines", "--provider", name, "--json"]) == 0
    machines = [row["machine"] for row in json.loads(capsys.readouterr().out)]
    words = ["machines", "--provider", name]
    texts = [shown(monkeypatch, columns, words) for columns in (NARROW, WIDE)]
    for text in texts:
        assert {*machines} <= {line.split()[0] for line in text.splitlines()}
        assert "…" not in text
    assert len(texts[1].splitlines()[0].split()) > len(texts[0].splitlines()[0].split())


def test_every_rule_is_listed_by_its_whole_id(monkeypatch: pytest.MonkeyPatch):
    from launchers.core.catalogue import catalogues

    text = shown(monkeypatch, NARROW, ["explain"])
    assert {one for room in catalogues() for one in room.own} <= {*text.split()}


@pytest.mark.parametrize("columns", [NARROW, WIDE])
@pytest.mark.parametrize(
    "words",
    [["list"], ["machines"], ["sagemaker", "--help"], ["nosuch"], ["data", "info", "food"]],
    ids=" ".join,
)
def test_a_real_terminal_shows_the_same(
    words: list[str], columns: int, place: Path, monkeypatch: pytest.MonkeyPatch
):
    launch = Launch(place / "home", place / "project")
    with on_terminal(launch, *words, size=(columns, 50)) as terminal:
        text = terminal.rest()
        terminal.code()
    assert too_wide(text, columns) == []
    assert text.split() == shown(monkeypatch, columns, words).split()


def test_what_rehearsals_have_is_shown_by_its_whole_name(monkeypatch: pytest.MonkeyPatch):
    from launchers.docker import engine
    from launchers.rehearsal.engine import labels, leftovers

    here = labels.Labels.new("image-classifier-of-the-whole-team-0badcafe-12")
    gone = replace(here, id="0badca", job="train-9bfa1234-1", owner="1:1")
    names = {f"{number}": f"launch-{number}" for number in range(12)}
    found = [
        leftovers.Rehearsal(here, names, {"n": "launch-n"}, [Path("/tmp/launch-rehearsal-1")]),
        leftovers.Rehearsal(gone, {}, {"n": "launch-n"}, []),
    ]
    monkeypatch.setattr(engine, "engine", lambda *_: io.StringIO())  # something to be closed
    monkeypatch.setattr(leftovers, "rehearsals", lambda client: found)
    for columns in (NARROW, WIDE):
        text = shown(monkeypatch, columns, ["rehearsals"])
        assert too_wide(text, columns) == []
        assert {one.labels.job for one in found} <= {*text.split()}
        assert {"running", "left"} <= {*text.split()}
    assert "12 containers, 1 network, 1 folder" in text
