"""Questions and answers are signed with all that they say."""

from __future__ import annotations

import pytest
from launch_runtime.host.peers import signatures, wire
from launch_runtime.host.peers.signatures import Answer, Key, Question

NONCE = "00112233445566778899aabbccddeeff"
KEY = Key(NONCE)
QUESTION = Question(
    "POST", "/launch/report", 1, "aa", 7, "bb", 2, signatures.digest(b"{}"),
)  # fmt: skip
ANSWER = Answer(200, "bb", 2, signatures.digest(b"{}"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("method", "PUT"), ("path", "/launch/keys/a"), ("sender", 2), ("start", "a"),
        ("number", 8), ("to", "abb"), ("size", 3), ("digest", signatures.digest(b"[]")),
    ],
)  # fmt: skip
def test_a_question_that_says_anything_else_has_another_signature(
    field: str, value: object
) -> None:
    changed = QUESTION._replace(**{field: value})
    assert KEY.of_question(changed) != KEY.of_question(QUESTION)


def test_what_moves_from_one_field_to_the_next_changes_the_signature() -> None:
    one = QUESTION._replace(start="a", number=11)
    assert KEY.of_question(one) != KEY.of_question(QUESTION._replace(start="a1", number=1))


@pytest.mark.parametrize(
    ("field", "value"),
    [("status", 400), ("start", "cc"), ("size", 3), ("digest", signatures.digest(b"[]"))],
)
def test_an_answer_that_says_anything_else_has_another_signature(field: str, value: object) -> None:
    changed = ANSWER._replace(**{field: value})
    assert KEY.of_answer("asked", changed) != KEY.of_answer("asked", ANSWER)


def test_an_answer_fits_one_question_alone() -> None:
    first, second = KEY.of_question(QUESTION), KEY.of_question(QUESTION._replace(number=8))
    assert KEY.of_answer(first, ANSWER) != KEY.of_answer(second, ANSWER)


def test_another_jobs_key_signs_otherwise_and_no_key_shows_itself() -> None:
    other = Key(NONCE[::-1])
    assert other.of_question(QUESTION) != KEY.of_question(QUESTION)
    assert repr(KEY) == "Key(...)"
    assert NONCE not in KEY.of_question(QUESTION)


@pytest.mark.parametrize(
    ("nonce", "is_open"),
    [(NONCE, False), ("", True), ("PLACEHOLDER-NONCE", True), (NONCE + "0", True)],
)
def test_a_key_that_everybody_can_make_is_known_as_one(nonce: str, is_open: bool) -> None:
    assert Key(nonce).is_open is is_open


def test_signatures_are_compared_as_wholes() -> None:
    assert signatures.same("ab", "ab")
    assert not signatures.same("ab", "abc")
    assert not signatures.same("ab", "ac")


def test_questions_and_answers_come_back_from_the_wire() -> None:
    asked, answered = KEY.of_question(QUESTION), KEY.of_answer("asked", ANSWER)
    head = wire.write_question(QUESTION, asked)[: -len(wire.END_OF_HEAD)]
    assert wire.read_question(head) == (QUESTION, asked)
    head = wire.write_answer(ANSWER, answered)[: -len(wire.END_OF_HEAD)]
    assert wire.read_answer(head) == (ANSWER, answered)


HEAD = wire.write_question(QUESTION, "0" * 64)[: -len(wire.END_OF_HEAD)]
NONSENSE = {
    "nothing": b"",
    "binary": bytes(range(256)),
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "no headers": b"GET / HTTP/1.1",
    "a method that is not ours": HEAD.replace(b"POST", b"HEAD"),
    "a blank in the path": HEAD.replace(b"/report", b"/re port"),
    "a sender below zero": HEAD.replace(b"Sender: 1", b"Sender: -1"),
    "a sender of other digits": HEAD.replace(b"Sender: 1", "Sender: \u0661".encode()),
    "an endless number": HEAD.replace(b"Count: 7", b"Count: " + b"7" * 900),
    "a header twice": HEAD + b"\r\nLaunch-Sender: 1",
    "no signature": HEAD.rpartition(b"\r\n")[0],
    "a short signature": HEAD[:-1],
    "a signature that is none": HEAD[:-1] + b"Z",
    "a word that is none": HEAD.replace(b"Start: aa", b"Start: a a"),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_what_is_no_question_is_refused_and_never_a_crash(case: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any text
        wire.read_question(NONSENSE[case])
