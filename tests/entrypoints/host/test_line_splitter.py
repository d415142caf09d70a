from __future__ import annotations

import random

import pytest
from launch_runtime.host.line_splitter import PROGRESS_SECONDS, LineSplitter

# what a rank writes in one go; the lines shown
WRITTEN = {
    "whole lines": (b"a\nb\n", [b"a", b"b"]),
    "an empty line": (b"a\n\nb\n", [b"a", b"", b"b"]),
    "a Windows line end": (b"a\r\nb\r\n", [b"a", b"b"]),
    "a bar that overwrites itself": (b" 10%\r 20%\r100%\n", [b"100%"]),
    "a bar that returns first": (b"\r 10%\r 20%\r100%\n", [b"100%"]),
    "a bar that returns last": (b"10%\r100%\r\n", [b"100%"]),
    "a bar that is wiped": (b"10%\r100%\r    \n", [b"100%"]),
    "returns alone": (b"\r\r\n", [b""]),
    "colours": (b"\x1b[31mred\x1b[0m\n", [b"\x1b[31mred\x1b[0m"]),
    "no UTF-8": (b"\xff\xfe\n", [b"\xff\xfe"]),
    "no end": (b"a\nrest", [b"a", b"rest"]),
    "a bar without an end": (b"10%\r20%", [b"20%"]),
}


@pytest.mark.parametrize("case", WRITTEN)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_lines_are_whole_however_their_bytes_arrive(case: str, size: int) -> None:
    data, expected = WRITTEN[case]
    splitter = LineSplitter()
    found = []
    for start in range(0, len(data), size):
        found += splitter.feed(data[start : start + size], now=0)
    assert found + splitter.flush() == expected


def test_nothing_is_lost_of_lines_longer_than_the_limit() -> None:
    text = ("äöü€" * 500).encode()
    splitter = LineSplitter(limit=100)
    found = splitter.feed(text + b"\nshort\n", now=0)
    assert b"".join(found[:-1]) == text
    assert all(len(line) <= 100 for line in found)
    for line in found:
        line.decode()  # no character was cut in two


def test_a_line_without_end_is_shown_once_it_is_too_long() -> None:
    splitter = LineSplitter(limit=10)
    assert splitter.feed(b"x" * 25, now=0) == [b"x" * 10, b"x" * 10]
    assert splitter.flush() == [b"x" * 5]


def test_a_bar_of_an_hour_is_shown_now_and_then_and_kept_small() -> None:
    splitter = LineSplitter()
    shown = []
    for second in range(3600):
        shown += splitter.feed(f"\rstep {second}".encode(), now=float(second))
    assert len(shown) in range(int(3500 / PROGRESS_SECONDS), int(3700 / PROGRESS_SECONDS))
    assert splitter.flush() == [b"step 3599"]


def test_random_text_without_returns_comes_out_as_it_went_in() -> None:
    chance = random.Random(1)
    text = bytes(chance.choice(b"ab \n\xc3") for _ in range(20_000))
    splitter, found, start = LineSplitter(), [], 0
    while start < len(text):
        size = chance.randrange(1, 300)
        found += splitter.feed(text[start : start + size], now=0)
        start += size
    assert b"\n".join([*found, *(splitter.flush() or [b""])]) == text
