"""`launch help`: topics, verbs, and that what the topics say is what the code does."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO

import click
import pytest

from launchers.cli import topics
from launchers.cli.main import cli, run
from launchers.cli.verb_table import VERBS
from launchers.core.model import problems
from launchers.core.spec.job import HANG_ACTIONS, PROOF_MODES
from launchers.core.strategies import NAMES
from tests.places import ROOT
from tests.refusals import refused

TOPICS = topics.names()
WANTED = (
    *("strategies", "secrets", "spot", "names", "exit-codes", "hangs", "proof", "json"),
    *("environment-variables", "profiles", "defaults", "notify", "data", "scaling", "spark"),
)


def said(*words: str) -> str:
    with redirect_stdout(StringIO()) as out:
        assert run(["help", *words]) == 0
    return out.getvalue()


def every_flag() -> set[str]:
    found = set()
    with click.Context(cli) as context:
        for name in VERBS:
            command = cli.get_command(context, name)
            assert command is not None
            inner = command.commands.values() if isinstance(command, click.Group) else [command]
            found |= {flag for one in inner for each in one.params for flag in each.opts}
    return found


def test_the_topics_are_listed_with_what_they_are_about():
    lines = said().splitlines()
    for name in WANTED:
        assert any(line.split()[:1] == [name] and len(line.split()) > 3 for line in lines)


@pytest.mark.parametrize("name", TOPICS)
def test_a_page_fits_a_terminal_and_ends_with_a_page_of_the_docs(name: str):
    lines = said(name).splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert lines[0].partition(": ")[2]
    assert (ROOT / lines[-1].removeprefix("More: ")).is_file()


@pytest.mark.parametrize("name", TOPICS)
def test_a_page_names_flags_and_verbs_that_there_are(name: str):
    text = re.sub(r" -- .*", "", topics.page(name))  # the script's own arguments
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= every_flag()
    assert set(re.findall(r"(?:^ +|`)launch ([a-z]+)", text, re.MULTILINE)) <= {*VERBS}


@pytest.mark.parametrize("words", [["exit", "codes"], ["exit-codes"], ["Exit_Codes"]])
def test_a_topic_of_two_words_is_found(words: list[str]):
    assert said(*words) == topics.page("exit-codes")


def test_every_exit_code_of_the_command_is_on_its_page_and_no_other():
    codes = {value for name, value in vars(problems).items() if name.startswith("EXIT_")}
    named = re.findall(r"^  (\d+) ", topics.page("exit-codes"), re.MULTILINE)
    assert {*map(int, named)} == codes


def test_every_strategy_is_on_its_page_and_no_other():
    named = re.findall(r"^  ([a-z]+)  ", topics.page("strategies"), re.MULTILINE)
    assert {*named} - {"strategy"} == {*NAMES}


def test_every_level_of_proof_and_action_on_a_hang_is_on_its_page():
    for flag, page, words in (
        ("--proof", "proof", PROOF_MODES),
        ("--hang-action", "hangs", HANG_ACTIONS),
    ):
        named = re.findall(rf"^  {flag} (\w+)  ", topics.page(page), re.MULTILINE)
        assert sorted(named) == sorted(words)


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        (["sagemaker"], "Usage: launch sagemaker [OPTIONS] [SCRIPT]"),
        (["image", "build"], "Usage: launch image build [OPTIONS]"),
    ],
)
def test_a_verbs_help_is_shown_as_by_its_flag(words: list[str], usage: str):
    assert said(*words).startswith(usage)
    with redirect_stdout(StringIO()) as out:
        run([*words, "--help"])
    assert said(*words) == out.getvalue()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["strategy"], "did you mean strategies"),
        (["exitcodes"], "did you mean exit-codes"),
        (["sagmaker"], "did you mean sagemaker"),
        (["image", "biuld"], "did you mean image"),
        (["xyzzy"], "lists the topics"),
    ],
)
def test_a_word_that_is_neither_topic_nor_verb_gets_the_nearest(words: list[str], hint: str):
    with refused("topic-unknown", match=hint) as caught:
        run(["help", *words])
    assert caught.value.exit_code == 2


def test_the_topics_are_files_of_the_package():
    assert (ROOT / "launchers" / "cli" / "topics" / "exit-codes.txt").is_file()
    assert sorted(TOPICS) == TOPICS
    assert {*WANTED} <= {*TOPICS}
