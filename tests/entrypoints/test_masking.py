"""Values are masked in bytes, wherever these are cut."""

from __future__ import annotations

import random

import pytest
from launch_runtime import masking
from launch_runtime.masking import Masker

VALUE = "swordfish-9"


def masked(pieces: list[bytes], *values: str) -> bytes:
    masker = Masker(part for value in values for part in masking.parts(value))
    return b"".join([*(masker.feed(piece) for piece in pieces), masker.flush()])


@pytest.mark.parametrize("cut", range(1, len(VALUE)))
def test_a_value_that_two_writes_make_up_is_masked(cut: int):
    text = VALUE.encode()
    assert masked([b"a " + text[:cut], text[cut:] + b" b"], VALUE) == b"a *** b"


def test_bytes_that_come_one_by_one_are_masked():
    assert masked([bytes([byte]) for byte in f"<{VALUE}><{VALUE}".encode()], VALUE) == b"<***><***"


def test_what_only_begins_like_a_value_is_shown_in_the_end():
    assert masked([b"sword", b"s and swordfi"], VALUE) == b"swords and swordfi"


def test_nothing_is_held_back_that_cannot_begin_a_value():
    assert Masker(masking.parts(VALUE)).feed(b"10% ") == b"10% "


def test_a_value_inside_another_leaves_nothing_of_it():
    assert masked([b"tokentoken", b"more."], "token", "tokenmore") == b"******."
    assert masked([b"abcdXYZefgh"], "abcdXYZ", "XYZefgh") == b"***"


def test_each_line_of_a_value_is_masked_by_itself():
    key = "-----BEGIN KEY-----\n  MIIEvQIBADAN\nab\n-----END KEY-----\n"
    assert masked([b"> MIIEvQIBADAN\r\n> ab\n"], key) == b"> ***\r\n> ab\n"


@pytest.mark.parametrize(
    ("value", "printed"),
    [('pass"word\\1', rb'{"p": "pass\"word\\1"}'), ("p@ss/word", b"https://u:p%40ss%2Fword@host")],
)
def test_a_value_is_masked_as_json_and_a_url_have_it(value: str, printed: bytes):
    assert b"word" not in masked([printed], value)


@pytest.mark.parametrize("value", ["", "abc", "a\nbc\nabc"])
def test_a_value_without_a_line_of_four_characters_is_not_looked_for(value: str):
    assert masking.parts(value) == []


def test_a_text_that_could_go_on_being_a_value_for_ever_is_not_kept_in_memory():
    masker = Masker(["aaaaab"])
    shown = sum(len(masker.feed(b"a" * (1 << 16))) for _ in range(16))
    assert shown > (1 << 19)


def test_any_cut_gives_what_one_piece_gives():
    drawn = random.Random(7)
    values = ["abab", "babab", "aabb", "bbbb"]
    for _ in range(300):
        text = bytes(drawn.choices(b"abc", k=60))
        cuts = sorted(drawn.choices(range(60), k=6))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, 60], strict=True)]
        assert masked(pieces, *values) == masked([text], *values), (text, cuts)
