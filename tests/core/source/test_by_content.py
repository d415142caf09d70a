"""What was found out about a content is kept by its bytes, up to a bound."""

from __future__ import annotations

import pytest

from launchers.core.source.by_content import ByContent


class Finder:
    def __init__(self):
        self.asked = []

    def __call__(self, content):
        self.asked.append(content)
        return [len(content)]


def test_the_same_bytes_have_one_answer_and_other_bytes_their_own():
    find = Finder()
    answers = ByContent(find)

    first = answers(b"x = 1")

    assert answers(bytes(bytearray(b"x = 1"))) is first
    assert answers(b"x = 22") == [6]
    assert find.asked == [b"x = 1", b"x = 22"]


def test_the_contents_asked_for_longest_ago_go_first():
    find = Finder()
    answers = ByContent(find, at_most=16)
    for content in (b"11", b"22", *[bytes([letter] * 2) for letter in b"cdefgh"]):
        answers(content)
    answers(b"11")  # seen again: the next to go is 22

    answers(b"ii")
    find.asked.clear()
    for content in (b"11", b"hh", b"ii", b"22"):
        answers(content)

    assert find.asked == [b"22"]


def test_a_content_too_large_to_keep_pushes_no_other_out():
    find = Finder()
    answers = ByContent(find, at_most=16)
    answers(b"1")

    assert answers(b"large") == answers(b"large") == [5]
    answers(b"1")

    assert find.asked == [b"1", b"large", b"large"]


def test_what_could_not_be_answered_is_asked_again():
    asked = []

    def find(content):
        asked.append(content)
        if len(asked) == 1:
            raise MemoryError
        return "found"

    answers = ByContent(find)
    with pytest.raises(MemoryError):
        answers(b"1")

    assert answers(b"1") == "found"
