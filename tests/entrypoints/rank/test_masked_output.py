"""Values of secrets are masked in all that a rank writes, by whatever it is written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.entrypoints.rank.guard_runs import ONE_HOST, Ended, run_guard
from tests.entrypoints.simulated import clean_environment, write_script
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.processes

VALUE = "swordfish-9-swordfish"
SECRET = {"LAUNCH_SECRETS": json.dumps({"KEY": "env:GIVEN"}), "GIVEN": VALUE}
ALL_WAYS = """
import os, subprocess, sys, ctypes
key = os.environ["KEY"]
print("python", key)
print("error", key, file=sys.stderr)
sys.stdout.flush()
os.write(1, f"raw {key[:7]}".encode()); os.write(1, f"{key[7:]} end\\n".encode())
subprocess.run(["sh", "-c", "echo child $KEY; echo child-error $KEY >&2"], check=True)
ctypes.CDLL(None).puts(f"from C {key}".encode())
"""


def guarded(folder: Path, text: str, **environment: str) -> Ended:
    ended = run_guard(folder, text, **{**ONE_HOST, **SECRET, **environment})
    assert VALUE not in ended.stdout + ended.stderr
    return ended


def test_a_rank_without_an_agent_is_masked_whatever_writes(tmp_path: Path):
    ended = guarded(tmp_path, ALL_WAYS)
    assert ended.code == 0
    for line in ("python ***", "raw *** end", "child ***", "from C ***"):
        assert line in ended.printed, ended.stdout
    assert "error ***" in ended.stderr
    assert "child-error ***" in ended.stderr


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("sys.exit(7)", 7),
        ("os._exit(8)", 8),
        ("os.kill(os.getpid(), 9)", -9),
        ("os.kill(os.getpid(), 11)", -11),
        ("raise ValueError(key)", 1),
        ("os.execv('/bin/sh', ['sh', '-c', 'echo last $KEY; exit 9'])", 9),
    ],
)
def test_the_last_lines_and_the_exit_code_are_kept(tmp_path: Path, ending: str, code: int):
    text = f"""
        import os, sys
        key = os.environ["KEY"]
        for number in range(3000):
            print("line", number, key)
        sys.stdout.flush()
        {ending}
    """
    ended = guarded(tmp_path, text)
    assert ended.code == code
    assert "line 2999 ***" in ended.printed
    assert "execv" not in ending or "last ***" in ended.printed
    assert "ValueError" not in ending or "ValueError: ***" in ended.stderr


def test_both_streams_in_one_place_stay_in_order(tmp_path: Path):
    source = tmp_path / "source"
    write_script(
        source,
        """
        import os
        for number in range(200):
            os.write(1 + number % 2, f"{number} {os.environ['KEY']}\\n".encode())
        """,
    )
    ended = subprocess.run(
        [sys.executable, str(ENTRYPOINTS / "guard.py"), "train.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
        env={**clean_environment(), **ONE_HOST, **SECRET, "LAUNCH_SOURCE_DIR": str(source)},
        check=True,
    )  # fmt: skip
    found = [line for line in ended.stdout.splitlines() if line.endswith("***")]
    assert found == [f"{number} ***" for number in range(200)]


def test_the_script_meets_no_child_that_it_did_not_start(tmp_path: Path):
    ended = guarded(
        tmp_path,
        """
        import os
        try:
            print("child", os.waitpid(-1, os.WNOHANG))
        except ChildProcessError:
            print("no child")
        """,
    )
    assert "no child" in ended.printed


def test_a_script_that_closes_all_descriptors_ends_as_it_wants(tmp_path: Path):
    assert guarded(tmp_path, "import os\nos.closerange(0, 256)\nos._exit(5)\n").code == 5


def test_a_secret_too_short_to_be_masked_is_named(tmp_path: Path):
    ended = run_guard(tmp_path, "print('x')", **{**ONE_HOST, **SECRET, "GIVEN": "abc"})
    assert [line for line in ended.ours if "secret KEY has fewer than 4 characters" in line]


def test_a_rank_without_secrets_keeps_its_own_streams(tmp_path: Path):
    with (tmp_path / "out").open("w+") as out:
        source = tmp_path / "source"
        write_script(source, "import os\nprint(os.fstat(1).st_ino)\n")
        subprocess.run(
            [sys.executable, str(ENTRYPOINTS / "guard.py"), "train.py"],
            cwd=tmp_path, stdout=out, timeout=120, check=True,
            env={**clean_environment(), **ONE_HOST, "LAUNCH_SOURCE_DIR": str(source)},
        )  # fmt: skip
        out.seek(0)
        assert str(os.fstat(out.fileno()).st_ino) in out.read()


def test_the_process_that_masks_ends_with_the_last_writer(tmp_path: Path):
    """Nothing is left behind, also where the whole group is killed."""
    source = tmp_path / "source"
    write_script(source, "import os, signal\nprint('up', flush=True)\nsignal.pause()\n")
    rank = subprocess.Popen(
        [sys.executable, str(ENTRYPOINTS / "guard.py"), "train.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, start_new_session=True,
        env={**clean_environment(), **ONE_HOST, **SECRET, "LAUNCH_SOURCE_DIR": str(source)},
    )  # fmt: skip
    assert rank.stdout
    assert b"up" in rank.stdout.readline()
    os.killpg(rank.pid, signal.SIGKILL)
    assert rank.wait(120) == -signal.SIGKILL
    rank.stdout.read()
    rank.stdout.close()
