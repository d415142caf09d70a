"""Credentials in fields of a document that are no place for one."""

from __future__ import annotations

import pytest

from launchers.core.credentials.elsewhere import (
    masked,
    masked_arguments,
    problems_anywhere,
    without_credentials,
)

KEY = "AKIA" + "Q3ZL7RTNB2XWMD5C"
DOCUMENT = {
    "TrainingJobName": "train-1",
    "Environment": {"A": KEY},
    "OutputDataConfig": {"S3OutputPath": f"s3://bucket/{KEY}"},
    "Channels": [{"Uri": "s3://b/c"}, {"Uri": f"https://me:{'hunter' + '2hunter'}@host/x"}],
}


def test_each_text_with_a_credential_is_told_by_its_path_and_never_shown():
    problems = problems_anywhere(DOCUMENT)

    assert [problem.path for problem in problems] == [
        "$.Environment.A",
        "$.OutputDataConfig.S3OutputPath",
        "$.Channels[1].Uri",
    ]
    assert {problem.rule for problem in problems} == {"credential"}
    assert not any(KEY in str(problem) or "hunter" in str(problem) for problem in problems)


def test_what_another_rule_looks_through_is_left_to_it():
    skip = {"$.Environment", "$.Channels"}
    assert [problem.path for problem in problems_anywhere(DOCUMENT, skip=skip)] == [
        "$.OutputDataConfig.S3OutputPath"
    ]


def test_a_credential_that_is_a_key_is_hidden_in_every_path():
    (problem,) = problems_anywhere({KEY: {"x": "y"}})
    assert problem.path == "$.(hidden)"


@pytest.mark.parametrize("value", [None, 3, True, [], {}, "", "train.py", {"Uri": "s3://b/k"}])
def test_other_values_are_no_credentials(value):
    assert problems_anywhere(value) == []


def test_a_text_for_a_reader_has_no_credential():
    assert KEY not in masked(KEY)
    assert masked("8 epochs") == "8 epochs"


def test_a_name_that_is_allowed_passes_and_no_other():
    found = problems_anywhere({"a": [{"note": KEY}], "other": KEY}, allowed={"note"})
    assert [problem.path for problem in found] == ["$.other"]


SECRET = "wJalrXUtnFEMI" + "/K7MDENG/" + "bPxRfiCYabcdefGH1x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"team={KEY}, cost=3", "team=*** (20 characters), cost=3"),
        (f"{KEY} and {KEY}", "*** (20 characters) and *** (20 characters)"),
        (f"key {SECRET}.", "key *** (40 characters)."),
        ("s3://bucket/" + "a" * 40, "s3://bucket/" + "a" * 40),
        ("2 hosts x 4 ranks = world size 8", "2 hosts x 4 ranks = world size 8"),
        ("-----BEGIN PRIVATE" + " KEY-----\n" + "MIIEpAIBAAKCAQEA" * 9, "*** (172 characters)"),
    ],
)
def test_a_line_of_the_plan_keeps_all_but_the_credential(text: str, shown: str):
    assert without_credentials(text) == shown


def test_arguments_keep_their_names_and_lose_what_is_secret():
    arguments = ["--lr", "0.1", "--token=abcdefgh1", "--db-password", "hunter2x", KEY]
    assert masked_arguments(arguments) == [
        "--lr",
        "0.1",
        "--token=*** (9 characters)",
        "--db-password",
        "*** (8 characters)",
        "*** (20 characters)",
    ]
