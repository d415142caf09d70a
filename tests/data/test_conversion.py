"""The converter's process: what it says, and that nothing of it is left, whatever happens."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from launchers.data.conversion import Conversion
from tests.places import ROOT
from tests.refusals import refused
from tests.waiting import processes_with, until

pytestmark = pytest.mark.processes

# It starts a child, as an engine does, and waits for what never comes.
HANGS = """
import signal, subprocess, sys
{before}
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()", sys.argv[1]])
print('{{"event": "start"}}', flush=True)
signal.pause()
"""


def program(folder: Path, text: str) -> Path:
    file = folder / "convert.py"
    file.write_text(textwrap.dedent(text))
    return file


def conversion(file: Path, *words: str) -> Conversion:
    return Conversion(sys.executable, words, file)


def test_events_come_as_they_are_and_other_lines_are_none(tmp_path: Path):
    file = program(
        tmp_path,
        """
        import sys
        print("a library's line")
        print('{"event": "start"}', flush=True)
        print("more of it", file=sys.stderr)
        print("[1]")
        print('{"event": "result", "place": "x"}')
        """,
    )
    with conversion(file) as run:
        assert [event["event"] for event in run.events()] == ["start", "result"]


@pytest.mark.parametrize("told", ["x is 3; expected a folder", "--split: sums to 1.2, expected 1"])
def test_what_the_converter_expected_is_said_once(told: str, tmp_path: Path):
    file = program(tmp_path, f"""print('{{"event": "error", "message": "{told}"}}')\n""")
    with refused("data-conversion", match="expected") as caught, conversion(file) as run:
        list(run.events())
    assert str(caught.value).count("expected") == 1


@pytest.mark.parametrize(("before", "code"), [("", 2), ('print(\'{"event": "start"}\')', 1)])
def test_an_error_is_a_wrong_request_until_the_work_has_begun(before: str, code: int, tmp_path):
    told = '{"event": "error", "message": "the disk is full"}'
    file = program(tmp_path, f"{before}\nprint('{told}')\nraise SystemExit(1)\n")
    with (
        refused("data-conversion", match="the disk is full") as caught,
        conversion(file) as run,
    ):
        list(run.events())
    assert caught.value.exit_code == code
    assert str(caught.value).count("expected") == 1


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("raise SystemExit(3)", "ended with exit code 3"),
        ("import sys; sys.exit('out of luck')", "exit code 1: out of luck"),
        ("import os; os.kill(os.getpid(), 9)", "killed by signal 9"),
        ("", "ended with exit code 0"),
    ],
)
def test_an_end_without_an_answer_is_told(text: str, match: str, tmp_path: Path):
    with refused("data-program", match=match), conversion(program(tmp_path, text)) as run:
        list(run.events())


# Such a program in the launcher's hands, which the test interrupts or kills.
LAUNCHER = """
import sys
from pathlib import Path
from launchers.data.conversion import Conversion
with Conversion(sys.executable, [sys.argv[2]], Path(sys.argv[1])) as run:
    for event in run.events():
        print(event, flush=True)
"""


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Starts one whose program hears signals so, and waits until everything of it runs."""
    started = []

    def start(before: str) -> subprocess.Popen[bytes]:
        file = program(tmp_path, HANGS.format(before=before))
        words = [sys.executable, "-c", LAUNCHER, str(file), str(tmp_path / "mark")]
        process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout
        assert b"start" in process.stdout.readline()
        until(lambda: len(processes_with(words[-1])) >= 3, "the program and its child run")
        return process

    yield start
    for process in started:
        try:
            process.communicate(timeout=60)
        finally:
            process.kill()
    until(lambda: not processes_with(str(tmp_path / "mark")), "everything has ended")


DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
ENDS = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))"


@pytest.mark.parametrize("before", ["", ENDS], ids=["is ended", "ends itself"])
def test_an_interrupted_one_leaves_nothing_behind(before: str, launcher):
    launcher(before).send_signal(signal.SIGINT)


def test_one_that_hears_nothing_is_killed_at_the_second_interrupt(launcher, tmp_path: Path):
    process = launcher(DEAF)
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.send_signal(signal.SIGINT)


def test_a_killed_launcher_takes_it_along(launcher):
    launcher(DEAF).kill()
