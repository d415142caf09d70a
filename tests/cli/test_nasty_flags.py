"""Every option of every verb, given what nobody means: an answer with a code of the table, always.

One process, a fixed seed: a value an option is drawn in CI, for every fourth one elsewhere, and all
of them for each with `LAUNCH_ALL_FLAGS=1`. Nothing starts: providers get `--dry-run`, no Docker and
no cloud is there.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from launchers.cli.failures import report
from launchers.cli.main import cli, run
from launchers.cli.verb_table import VERBS
from tests.selection import storm

CODES = {0, 1, 2, 3, 4, 5}
DRAWN = 1 if not os.environ.get("LAUNCH_ALL_FLAGS") else None
NASTY = [
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "=",
    "x=",
    "=x",
    "a=b=c",
    "X=\0",
    "\udcff",
    "X=\udcff",
    "-1",
    "0",
    "1e309",
    "nan",
    "9" * 5000,
    "9" * 5000 + "h",
    "-" * 3,
    "--",
    "a" * 65536,
    "é" * 300,
    "\u202e\x1b[31m\x07",
    "{",
    '{"a": ' * 200,
    "[" * 100_000,
    "&a [*a]",
    "!!python/object:os.system x",
    "..",
    "../" * 100,
    "/",
    "~",
    "/dev/null",
    "/dev/zero",
    "/proc/self/mem",
    "/nonexistent/" + "x" * 300,
    "s3://",
    "gs://a/../b",
    "arn:aws:iam::x:role/",
    "projects/a/secrets/b/versions/\n",
    "http://[::1",
    "latest:x@sha256:y",
    "train=fsx://fs-/x",
    "a,b,,c;d|e&f",
    "%s%n{0}{x}$(x)`x`",
    "1-0",
    "2026-13-45",
    "None",
    "true",
]
# What a verb needs to come as far as the value, and never further than to look at it.
WORDS = {
    "local": ["train.py", "--instances", "1", "--dry-run"],
    "sagemaker": ["train.py", "--instances", "2", "--gpus", "4", "--dry-run"],
    "vertex": ["train.py", "--instances", "2", "--gpus", "4", "--dry-run"],
    "spark": ["train.py", "--master", "local[2]", "--dry-run"],
    "scaling": ["train.py", "--compare", "lr=1,2", "--dry-run"],
    "check": ["job.json"],
    "rehearse": ["job.json"],
    "status": ["no-such-job"],
    "logs": ["no-such-job"],
    "wait": ["no-such-job"],
    "cancel": ["no-such-job"],
    "import": ["job.json"],
    "explain": ["world-size"],
}
# These write where they are told to, or follow for ever; what they are told is tested elsewhere.
LEFT_OUT = {("init", "--force"), ("logs", "--follow")}


def options() -> Iterator[tuple[tuple[str, ...], click.Option | click.Argument]]:
    """Each verb (with the subverb) and one of its parameters."""
    with click.Context(cli) as context:
        for name in VERBS:
            command = cli.get_command(context, name)
            assert command is not None
            yield from _of((name,), command)


def _of(
    words: tuple[str, ...], command: click.Command
) -> Iterator[tuple[tuple[str, ...], click.Option | click.Argument]]:
    if isinstance(command, click.Group):
        with click.Context(command) as context:
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from _of((*words, name), inner)
        return
    for option in command.params:
        if isinstance(option, (click.Option, click.Argument)):
            yield words, option


ALL = [(words, option) for words, option in options() if (words[0], option.opts[0]) not in LEFT_OUT]

TRIED = ALL[:: storm(1, 4)] if DRAWN else ALL


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text("import horovod.tensorflow as hvd\nhvd.init()\n")
    (project / "job.json").write_text('{"displayName": "x", "jobSpec": {"workerPoolSpecs": []}}')
    monkeypatch.chdir(project)
    for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "LAUNCH_"))]:
        monkeypatch.delenv(name)
    for name, value in {
        "HOME": str(tmp_path),
        "LAUNCH_HOME": str(tmp_path / "home"),
        "DOCKER_HOST": "unix:///nonexistent/docker.sock",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
    }.items():
        monkeypatch.setenv(name, value)
    return project


def lines() -> Iterator[list[str]]:
    """The command lines: each option with what was drawn for it."""
    draw = random.Random(12)
    for words, option in TRIED:
        values = NASTY if DRAWN is None else draw.sample(NASTY, DRAWN)
        if isinstance(option, click.Option) and (option.is_flag or option.count):
            values = [""]
        for value in values:
            given = WORDS.get(words[0], [])
            if isinstance(option, click.Argument):
                after = [word for word in given if word.startswith("-")]
                yield [*words, *after, "--", value]
            elif option.is_flag or option.count:
                yield [*words, *given, option.opts[0]]
            else:
                yield [*words, *given, f"{option.opts[-1]}={value}"]


def code_of(words: list[str]) -> int:
    """As the console script has it."""
    try:
        return run(words)
    except Exception as error:
        return report(error)


def _late(*_: Any) -> None:
    raise TimeoutError("it does not end")


@pytest.mark.processes  # it takes long
@pytest.mark.storm
def test_no_value_of_an_option_is_a_defect(place: Path, capfd: pytest.CaptureFixture[str]):
    before = signal.signal(signal.SIGALRM, _late)
    wrong, tried = [], 0
    for words in lines():
        tried += 1
        signal.alarm(60)
        code = code_of(words)
        signal.alarm(0)
        told = capfd.readouterr()
        text = told.out[-3000:] + told.err[-3000:]
        if code not in CODES or "Traceback" in text or "internal-error" in text:
            wrong.append(([word[:60] for word in words], code, text[-400:]))
    signal.signal(signal.SIGALRM, before)
    assert tried >= len(TRIED)
    assert wrong == []


def test_a_path_that_is_too_long_is_told(place: Path, capfd: pytest.CaptureFixture[str]):
    assert code_of(["local", "train.py", "--dry-run", f"--source={'[' * 5000}"]) == 2
    assert "is too long for a path" in capfd.readouterr().err


@pytest.mark.parametrize("word", ["--name=a\0b", "--name=\ud800"])
def test_what_no_program_can_be_given_is_told(
    word: str, place: Path, capfd: pytest.CaptureFixture[str]
):
    assert code_of(["local", "train.py", "--dry-run", word]) == 2
    assert "which cannot be passed to a program" in capfd.readouterr().err
