"""Nothing that a job prints or a document quotes makes a terminal do something."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launchers.core.printable import (
    is_utf8,
    printable,
    printable_json,
    printable_message,
    printable_value,
)

HARMFUL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("epoch 1, loss 0.5", "epoch 1, loss 0.5"),
        ("a\tb", "a\tb"),
        ("Größe 東京 🚀 👩‍👩‍👧 ñ", "Größe 東京 🚀 👩‍👩‍👧 ñ"),
        ("[31m is no sequence, 3 > 2", "[31m is no sequence, 3 > 2"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;2;1;2;3mrgb\x1b[m", "rgb"),
        ("\x1b[2J\x1b[H\x1b[?1049hgone", "gone"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x1b]0;root@host\x07title", "title"),
        ("\x1b]52;c;cm0gLXJmIC8=\x1b\\clipboard", "clipboard"),
        ("\x9d8;;http://evil\x9clink", "link"),
        ("\x1bP1$r0m\x1b\\dcs", "dcs"),
        ("\x90q#0\x9csixel", "sixel"),
        ("\x1b_apc\x1b\\a\x1b^pm\x1b\\b\x1bXsos\x1b\\c", "abc"),
        ("\x1b(0lqk\x1b(B", "lqk"),
        ("\x1bcreset\x1b7\x1b8\x1b=", "reset"),
        ("\x1b]0;no end, and the text stays", "0;no end, and the text stays"),
        ("\x1b[31", ""),
        ("the end\x1b", "the end"),
        ("\x1b\x1b[31m[31mtwice", "[31mtwice"),
        ("\x1b[\x1b[31m31mnested", "31mnested"),
        ("10%\r20%\r100%", "100%"),
        ("10%\r\x1b[K20%\r", "20%"),
        ("50%\r", "50%"),
        ("1/9\b\b\b2/9\b\b\b", "2/9"),
        ("1/9\b\b\b\b\b\b\r2/9", "2/9"),
        ("abc\bX", "abX"),
        ("\b\bab", "ab"),
        ("ding\x07 nul\x00 del\x7f", "ding nul del"),
        ("one\r\ntwo\nthree\x85four\u2028five", "one two three four five"),
        ("user\u202etxt.exe\u202c", "usertxt.exe"),
        ("\u2066isolate\u2069 \u202dover\u202c", "isolate over"),
        ("half \ud83d", "half \ufffd"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_obey_is_gone_and_the_text_stays(text: str, shown: str):
    assert printable(text) == shown


# fmt: off
PIECES = st.sampled_from([
    "\x1b", "[", "]", "31m", "P", "\x07", "\x9b", "\x9c", "\x9d", "\\", "\r", "\b", "\x85", "2J",
    "(", "\u202e", "\u2066", "\ud800", "a", "é", "🚀", " ", "\t", "\x00", "0;x", "\x90", "\n",
])
# fmt: on
TEXTS = st.one_of(st.lists(PIECES, max_size=30).map("".join), st.text(st.characters(), max_size=40))


@given(TEXTS)
def test_nothing_harmful_is_ever_left_and_a_second_time_changes_nothing(text: str):
    shown = printable(text)
    assert HARMFUL.search(shown) is None
    assert printable(shown) == shown
    shown.encode("utf-8")


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), max_size=60))
def test_text_without_controls_is_left_as_it_is(text: str):
    assert printable(text) == text


@given(TEXTS)
def test_a_message_keeps_its_lines_and_our_own_styles_alone(text: str):
    shown = printable_message(f"\x1b[31merror\x1b[0m: {text}\nsecond")
    assert shown.startswith("\x1b[31merror\x1b[0m: ")
    assert shown.endswith("\nsecond")
    without = re.sub("\x1b\\[(0|1|2|3[1-6])m|\n", "", shown)
    assert HARMFUL.search(without) is None


@given(TEXTS)
def test_json_loses_nothing_and_shows_nothing_harmful(text: str):
    shown = printable_json({"reason": text})
    assert json.loads(shown) == {"reason": text}
    assert HARMFUL.search(shown) is None


def test_a_value_is_cleaned_in_all_its_depth():
    value = {"re\x1b[1mason": ["\x9b2J", {"rank": 1, "host": "a\x07"}], "none": None}
    assert printable_value(value) == {"reason": ["", {"rank": 1, "host": "a"}], "none": None}


@given(st.binary(max_size=6))
def test_a_text_is_utf_8_where_its_bytes_are(data: bytes):
    try:
        data.decode()
    except UnicodeDecodeError:
        assert not is_utf8(data.decode("utf-8", "surrogateescape"))
    else:
        assert is_utf8(data.decode())
