"""The nonce: what is filled with it, what never shows it, and the stamp that comes of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from launchers.core.credentials.search import problems_in_environment
from launchers.core.model.document import document_text
from launchers.core.model.jobs import JobDefinition, LogLine
from launchers.core.model.problems import InDoubtError, Problem
from launchers.core.output.lines import JobWatch, shown
from launchers.core.records import nonce
from launchers.core.rules.environment import problems_in_names, problems_in_proof
from launchers.core.shipped import runtime
from launchers.core.spec.job import PROOF_MODES
from tests.fakes import stamps

DRAWN = "0123456789abcdef" * 2


def definition(document: dict[str, Any]) -> JobDefinition:
    text = document_text(document)
    listed = (nonce.placeholder("$.Environment.LAUNCH_NONCE"),)
    return JobDefinition("sagemaker", "job", 2, text, document, listed)


def test_a_nonce_is_new_each_time_and_no_credential_to_the_rules():
    one, other = nonce.new_nonce(), nonce.new_nonce()
    assert one != other
    assert re.fullmatch(nonce.FORM, one)
    for value in (one, nonce.PLACEHOLDER):
        assert problems_in_environment({"LAUNCH_NONCE": value}, "$.Environment") == []


def test_the_credential_rules_let_nothing_else_pass_under_the_nonces_name():
    key = "AKIA" + "IOSFODNN7QXBMPLE"
    assert problems_in_environment({"LAUNCH_NONCE": key}, "$.Environment")


@pytest.mark.parametrize("drawn", [DRAWN, nonce.PLACEHOLDER, ""])
def test_the_stamp_is_the_same_on_both_sides(drawn: str):
    assert nonce.stamp_of(drawn) == runtime("stamps").of(drawn) == stamps.stamp_of(drawn)


def test_the_stamp_is_sixteen_digits_of_a_one_way_digest():
    assert nonce.stamp_of(DRAWN) == "76ac43c39e4a88a5"
    assert nonce.stamp_of("") == ""


def test_both_sides_have_the_same_words():
    assert runtime("evidence.records").MODES == PROOF_MODES
    assert runtime("stamps").NONCE == nonce.VARIABLE


def test_the_lines_of_the_replica_are_read_and_shown_without_their_stamp():
    lines, stamp = runtime("lines"), nonce.stamp_of(DRAWN)
    text = lines.world(4, 2, 2, "Gloo") + "; gradients exchanged, weights equal"
    watch = JobWatch(stamp, 4)
    proof = LogLine(0.0, "host-1", 0, lines.proof(text, stamp))
    failure = LogLine(0.0, "host-1", None, lines.failure({"reason": "boom"}, stamp))
    for line in (proof, failure):
        watch.see(line)
        told = shown(line, without_gpus=False)
        assert told is not None
        assert stamp not in told.text
    assert (watch.proof, watch.failure) == (
        text,
        {"host": "host-1", "rank": None, "reason": "boom"},
    )


@pytest.mark.parametrize(
    "document",
    [
        {"Environment": {"A": "PLACEHOLDER-NONCE", "LAUNCH_NONCE": "PLACEHOLDER-NONCE"}},
        {
            "env": [
                {"name": "A", "value": "PLACEHOLDER-NONCE"},
                {"name": "LAUNCH_NONCE", "value": "PLACEHOLDER-NONCE"},
            ]
        },
    ],
)
def test_exactly_the_placeholder_is_filled_and_no_byte_else(document: dict[str, Any]):
    shown = definition(document)
    sent = nonce.filled(shown, DRAWN)
    assert sent.placeholders == ()
    assert sent.document == json.loads(sent.text)
    lines = zip(shown.text.splitlines(), sent.text.splitlines(), strict=True)
    changed = [(a, b) for a, b in lines if a != b]
    assert [a.replace(nonce.PLACEHOLDER, DRAWN) for a, _ in changed] == [b for _, b in changed]
    assert sent.text.count(DRAWN) == 1
    assert sent.text.count(nonce.PLACEHOLDER) == 1
    assert shown.document == document, "what is shown is as it was"


def test_a_service_that_quotes_the_request_does_not_show_the_nonce():
    problem = Problem("SageMaker", f"'{DRAWN}' is too long", f"not {DRAWN}", f"shorten {DRAWN}")
    error = nonce.without_nonce(InDoubtError(problem, 5), DRAWN)
    assert isinstance(error, InDoubtError)
    assert error.exit_code == 5
    assert DRAWN not in str(error) + repr(error.problems)
    assert "'***' is too long" in str(error)


@pytest.mark.parametrize("text", ['{"a":1}', "not even JSON"])
def test_a_document_without_a_placeholder_is_sent_byte_by_byte(text: str):
    assert nonce.filled_text(text, DRAWN) == text


def test_without_a_nonce_the_placeholder_stays_and_nothing_is_masked():
    text = definition({"LAUNCH_NONCE": nonce.PLACEHOLDER}).text
    assert nonce.filled_text(text, "") == text
    assert nonce.masked(text, "") == nonce.masked(text, nonce.PLACEHOLDER) == text


def test_a_dry_run_lists_the_nonce_as_drawn_at_the_sending():
    assert nonce.placeholder("$.a").at_sending


def test_a_line_that_prints_it_is_masked():
    line = LogLine(1.0, "algo-1", 0, f"environ LAUNCH_NONCE={DRAWN} A=b")
    assert nonce.without_secret(line, DRAWN).text == "environ LAUNCH_NONCE=*** A=b"
    assert nonce.without_secret(line, "") is line


def test_a_definition_that_is_printed_in_a_traceback_of_ours_keeps_to_the_placeholder():
    from launchers.core.proof import Expected
    from launchers.core.records.entry import Entry

    entry = Entry("n", "local", "b", 1, 2, "{}", nonce=DRAWN)
    assert DRAWN not in repr(entry) + repr(Expected(2, nonce=DRAWN))


@pytest.mark.parametrize(
    ("environment", "rule"),
    [
        ({}, []),
        ({"LAUNCH_PROOF": "strict", "LAUNCH_NONCE": DRAWN}, []),
        ({"LAUNCH_PROOF": "init", "LAUNCH_NONCE": "PLACEHOLDER-NONCE"}, []),
        ({"LAUNCH_PROOF": "none"}, ["proof-mode"]),
        ({"LAUNCH_PROOF": None}, ["proof-mode"]),
        ({"LAUNCH_NONCE": "secret-word"}, ["nonce"]),
        ({"LAUNCH_NONCE": ""}, ["nonce"]),
    ],
)
def test_a_document_says_its_proof_and_nonce_rightly(environment: dict[str, Any], rule: list[str]):
    problems = problems_in_proof(environment, "$.Environment")
    assert [problem.rule for problem in problems] == rule
    assert "secret-word" not in str(problems)


@pytest.mark.parametrize("name", ["LAUNCH_NONCE", "LAUNCH_PROOF"])
def test_the_user_sets_neither_by_env(name: str):
    (problem,) = problems_in_names({name: "x"})
    assert problem.rule == "env-reserved"
