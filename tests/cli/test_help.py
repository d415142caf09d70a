"""What `launch VERB --help` shows: examples, groups, defaults, and what only `--help-all` does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path

import click
import pytest

from launchers.cli.main import cli, ended, run
from launchers.cli.verb import HELP_ALL, Flag, Verb
from launchers.cli.verb_group import VerbGroup
from launchers.cli.verb_table import VERBS
from launchers.core.registry import PROVIDERS, provider
from launchers.core.spec.job import JobSpec
from launchers.core.spec.option import GROUPS

CLOUDS = ["sagemaker", "vertex"]


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def help_of(*words: str) -> str:
    with redirect_stdout(StringIO()) as shown:
        assert run([*words]) == 0
    return shown.getvalue()


def text_of(flag: str, shown: str) -> str:
    """What stands beside a flag; empty where the flag is not there."""
    found = re.search(rf"\n  (?:-\w, )?{flag}[ ,\n].*?(?=\n\n|\n  -|\Z)", shown, re.DOTALL)
    return " ".join(found[0].split()) if found else ""


def verbs() -> Iterator[tuple[str, ...]]:
    """Every verb, and each of a verb's own."""
    with click.Context(cli) as context:
        for name in VERBS:
            command = cli.get_command(context, name)
            inner = command.commands if isinstance(command, click.Group) else {}
            yield from [(name, each) for each in inner] or [(name,)]


@pytest.mark.parametrize("words", [*verbs()], ids=" ".join)
def test_every_verb_shows_an_example_before_its_flags_within_the_width(words: tuple[str, ...]):
    shown = help_of(*words, "--help")
    examples = shown.index("\nExample")
    assert examples < min(shown.find(f"\n{title}:") % len(shown) for title in ("Options", *TITLES))
    assert f"  launch {' '.join(words)}" in shown[examples:]
    assert max(map(len, shown.splitlines())) <= 80


TITLES = GROUPS.values()


def groups() -> Iterator[tuple[str, ...]]:
    """`launch` itself, and every verb that has verbs of its own."""
    yield ()
    with click.Context(cli) as context:
        for name in VERBS:
            if isinstance(cli.get_command(context, name), click.Group):
                yield (name,)


@pytest.mark.parametrize("words", [*groups()], ids=lambda words: " ".join(words) or "launch")
def test_a_group_shows_two_examples_then_all_of_its_verbs_with_whole_texts(words: tuple[str, ...]):
    shown = help_of(*words, "--help")
    starts = [shown.index(f"\n{title}:\n") for title in ("Examples", "Commands", "Options")]
    assert starts == sorted(starts)
    examples = shown[starts[0] : starts[1]].strip().splitlines()[1:]
    verb = " ".join(("launch", *words))
    assert [one.startswith(f"  {verb} ") for one in examples] == [True, True]
    assert "..." not in shown[starts[1] : starts[2]]


@pytest.mark.parametrize("words", [*groups()], ids=lambda words: " ".join(words) or "launch")
def test_a_group_without_a_verb_shows_its_help_on_stderr_and_ends_with_2(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
):
    assert ended([*words]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", help_of(*words, "--help"))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("run train.py", "launch local train.py"),
        ("train.py", "launch local train.py"),
        ("scaling train.py", "launch scaling local train.py"),
        ("version", "launch --version"),
        ("ps", "launch list"),
        ("kill train-1", "launch cancel JOB"),
        ("data convert a b", "launch data parquet IMAGES OUT"),
        ("data sho a", "did you mean show?"),
        ("image push", "launch image build --push HOST/PATH:TAG"),
        ("completion fish", "launch completion install --shell fish"),
        ("sagemeker", "did you mean sagemaker?"),
        ("status", "`launch list` shows them"),
        ("check", "such as: launch check job.json"),
        ("--instances 2 local", "a flag goes after its verb"),
        ("--verson", "such option; expected an option of `launch` [flag-unknown]. did you mean"),
    ],
)
def test_what_a_hurried_person_types_is_answered_with_what_is_meant(
    words: str, line: str, capsys: pytest.CaptureFixture[str]
):
    assert ended(words.split()) == 2
    err = capsys.readouterr().err
    assert line in err
    assert err.count("error: ") == 1


def groups() -> Iterator[tuple[str, VerbGroup]]:
    """`launch` itself by an empty name, and each verb that has verbs of its own."""
    yield "", cli
    with click.Context(cli) as context:
        for name in VERBS:
            command = cli.get_command(context, name)
            if isinstance(command, VerbGroup):
                yield name, command


CALLED_ELSEWHERE = [
    (group, word, line) for group, command in groups() for word, line in command.elsewhere.items()
]


@pytest.mark.parametrize(("group", "word", "line"), CALLED_ELSEWHERE)
def test_what_is_called_otherwise_elsewhere_is_a_verb_here(group: str, word: str, line: str):
    every = {*verbs()}
    assert (group, word) not in every
    assert (word,) not in every or group
    _, verb, *more = line.split()
    if verb == "--version":
        return
    is_group = any(words[0] == verb and len(words) == 2 for words in every)
    path = (verb, *more[:is_group])
    assert path in every
    flags = {one.partition("=")[0] for one in more if one.startswith("--")}
    assert flags <= set(help_of(*path, "--help").replace("[=", " ").split())


def test_pictures_are_converted_by_flags_in_groups_with_defaults():
    shown = help_of("data", "parquet", "--help")
    assert [title for title in TITLES if f"\n{title}:" in shown] == [
        "Where",
        "Data",
        "Safety",
        "Output",
    ]
    assert "Default: process" in text_of("--engine", shown)


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_providers_help_has_two_examples_then_its_flags_in_groups(name: str):
    shown = help_of(name, "--help")
    starts = [shown.index(f"\n{title}:") for title in ("Examples", *TITLES)]
    assert starts == sorted(starts)
    assert shown.count(f"\n  launch {name} ") == 2
    assert len(shown.splitlines()) <= 72
    assert shown.splitlines()[-1].startswith(f"  {HELP_ALL} ")


def test_local_says_that_it_needs_a_script_as_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    shown = " ".join(help_of("local", "--help").split())
    assert "SCRIPT or -m MODULE is needed here or in launch.yaml" in shown
    assert "Without SCRIPT it trains" not in shown
    monkeypatch.chdir(tmp_path)
    assert (ended(["local"]), "[script-missing]" in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_last_line_counts_the_flags_that_only_help_all_shows(name: str):
    few, every = help_of(name, "--help"), help_of(name, HELP_ALL)
    with click.Context(cli) as context:
        command = cli.get_command(context, name)
    assert isinstance(command, Verb)
    rare = {one.opts[0] for one in command.params if isinstance(one, Flag) and one.rare}
    assert rare
    assert f"Show {len(rare)} more flags" in few.splitlines()[-1]
    for flag in rare:
        assert text_of(flag, every)
        assert not text_of(flag, few)


def test_an_alias_stands_in_help_all_alone():
    assert "--location" not in help_of("vertex", "--help")
    assert "--region, --location REGION" in help_of("vertex", HELP_ALL)


@pytest.mark.parametrize(
    ("words", "flag", "default"),
    [
        (["sagemaker"], "--instances", "1"),
        (["sagemaker"], "--proof", "exchange"),
        (["sagemaker"], "--format", "json"),
        (["sagemaker"], "--hang-action", "wait"),
        (["vertex"], "--keras", "read from the source"),
        (["image", "build"], "--with", "horovod"),
        (["import"], "--provider", "vertex"),
        (["list"], "--limit", "20"),
    ],
)
def test_a_default_is_said_with_its_flag(words: list[str], flag: str, default: str):
    every = help_of(*words, HELP_ALL if words[0] in PROVIDERS else "--help")
    assert f"Default: {default}" in text_of(flag, every)


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_field_of_a_job_is_in_a_group(name: str):
    for cls in (JobSpec, provider(name).definer.options):
        for item in fields(cls):
            assert "help" not in item.metadata or item.metadata["group"] in GROUPS


@pytest.mark.parametrize(("columns", "most"), [("60", 60), ("100", 100), ("200", 100)])
def test_the_help_uses_the_terminal_up_to_100_columns(
    monkeypatch: pytest.MonkeyPatch, columns: str, most: int
):
    monkeypatch.setenv("COLUMNS", columns)
    longest = max(map(len, help_of("rehearse", "--help").splitlines()))
    assert most - 20 < longest <= most
