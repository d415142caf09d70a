"""Messages on a terminal: no line wider than it, and what could be copied stays whole."""

from __future__ import annotations

import io

import pytest

from launchers.cli.show.output import say
from launchers.cli.show.wrapping import wrapped

ARN = "arn:aws:iam::123456789012:role/service-role/AmazonSageMaker-ExecutionRole-20260101T000000"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_go_on_below_where_the_text_began():
    lines = wrapped("  machine  ml.g5.xlarge, 1 GPU A10G, the default", 28).split("\n")
    assert lines == ["  machine  ml.g5.xlarge, 1", "           GPU A10G, the", "           default"]
    lines = wrapped("error: --gpus: 3; expected a count that a machine has", 30).split("\n")
    assert lines == ["error: --gpus: 3; expected a", "  count that a machine has"]


def test_a_command_to_copy_is_on_one_line_with_its_last_flag():
    command = "launch sagemaker train.py --instances 2 --gpus 4 --dry-run -- --epochs 3"
    lines = wrapped(f"error: --epochs: not an option of launch. write: {command}", 60).split("\n")
    assert lines[-1].strip() == command
    assert all(len(line) <= 60 for line in lines[:-1])


@pytest.mark.parametrize(
    "line",
    [
        "      launch local /opt/launch/train.py --instances 2 -- --data parquet:/data/food",
        "next: cd a-folder-with-a-long-name && launch local --instances 2 --processes 4",
    ],
)
def test_a_command_on_a_line_of_its_own_is_not_cut(line: str):
    lines = wrapped(line, 40).split("\n")
    command = line.strip().removeprefix("next: ")
    assert lines[-1].strip().removeprefix("next: ") == command


def test_words_behind_a_label_are_no_command():
    text = "  engine    docker is not running here, so nothing was built"
    assert all(len(line) <= 40 for line in wrapped(text, 40).split("\n"))


def test_a_command_in_brackets_stays_whole():
    lines = wrapped("  logs   /home/me/jobs/train-1/logs   (launch logs train-1), a", 48).split(
        "\n"
    )
    assert lines[-1] == "         (launch logs train-1), a"


def test_words_in_backticks_and_words_without_a_blank_stay_whole():
    assert "`launch explain RULE`" in wrapped("x " * 8 + "`launch explain RULE` shows more", 30)
    lines = wrapped(f"  role  {ARN}  (--role)", 40).split("\n")
    assert lines == [f"  role  {ARN}", "        (--role)"]


def test_styles_take_no_room():
    styled = "\x1b[31merror\x1b[0m: twenty letters, then"
    assert wrapped(styled, 28) == styled


@pytest.mark.parametrize(("columns", "lines"), [("40", 3), ("200", 1)])
def test_a_message_is_wrapped_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, columns: str, lines: int
):
    screen, pipe = Screen(), io.StringIO()
    monkeypatch.setenv("COLUMNS", columns)
    text = "the job goes on; its logs cannot be read, so this command waits for its end"
    for stream in (screen, pipe):
        monkeypatch.setattr("sys.stderr", stream)
        say(text)
    assert len(screen.getvalue().splitlines()) == lines
    assert pipe.getvalue() == f"{text}\n"
