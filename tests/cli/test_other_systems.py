"""macOS and Windows: what prints, checks and sends works there; what starts ranks says that it
needs Linux."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.processes

SYSTEMS = {"darwin": "macOS", "win32": "Windows"}
CLOUD = ("--instances", "2", "--gpus", "4")
TRAIN = "import horovod.tensorflow.keras as hvd\nhvd.init()\n"
VERBS = {
    "help": ["--help"],
    "sagemaker": ["sagemaker", "train.py", *CLOUD, "--dry-run"],
    "vertex": [
        "vertex",
        "train.py",
        *CLOUD,
        "--image",
        "gcr.io/p/image:1",
        "--dry-run",
    ],
    "source": ["sagemaker", "train.py", *CLOUD, "--source", "my\\project", "--dry-run"],
    "local plan": ["local", "train.py", "--instances", "2", "--dry-run"],
    "spark plan": ["spark", "train.py", "--master", "spark://127.0.0.1:7077", "--dry-run"],
    "check": ["check", "job.json"],
    "machines": ["machines", "--gpus", "4"],
    "list": ["list"],
    "explain": ["explain", "needs-linux"],
    "schema": ["schema"],
    "init": ["init", "new"],
    "local": ["local", "train.py"],
    "rehearsal": ["sagemaker", "train.py", *CLOUD, "--dry-run=docker"],
    "rehearse": ["rehearse", "job.json"],
}
REFUSED = ("local", "rehearsal", "rehearse")


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def child(folder: Path, *words: str) -> Any:
    home = {"LAUNCH_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.other_system", *words],
        cwd=folder,
        env={**os.environ, **home, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def answers(system: str, folder: Path, verbs: dict[str, list[str]]) -> dict[str, Ended]:
    (folder / "my\\project").mkdir()
    for place in (folder, folder / "my\\project"):
        (place / "train.py").write_text(TRAIN)
    shutil.copy(ROOT / "tests" / "corpus" / "sagemaker" / "estimator_mpi.json", folder / "job.json")
    ended = child(folder, system, json.dumps(list(verbs.values())))
    return dict(zip(verbs, (Ended(*one) for one in ended), strict=True))


@pytest.fixture(scope="module")
def said(system: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    return answers(system, tmp_path_factory.mktemp(system), VERBS)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """The same on Linux, but for what would start ranks."""
    working = {verb: words for verb, words in VERBS.items() if verb not in REFUSED}
    return answers("linux", tmp_path_factory.mktemp("linux"), working)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in REFUSED])
def test_what_starts_no_ranks_answers_as_on_linux(
    verb: str, said: dict[str, Ended], here: dict[str, Ended]
) -> None:
    ended = said[verb]
    assert ended.code == here[verb].code == 0, ended.err
    if verb not in ("local plan", "spark plan"):  # its folders and its port are each run's own
        assert ended.out == here[verb].out


@pytest.mark.parametrize("verb", REFUSED)
def test_what_starts_ranks_says_that_it_needs_linux(
    verb: str, system: str, said: dict[str, Ended]
) -> None:
    ended = said[verb]
    assert ended.code == 2
    assert f"{SYSTEMS[system]}, and" in ended.err
    assert "[needs-linux]" in ended.err
    assert "Traceback" not in ended.err


# The other holder lets go once it is told that somebody waits.
LOCK_ON_WINDOWS = """
import fcntl, os
from tests.cli.other_system import become
flock = fcntl.flock
become("win32")
from launchers.core.records.lock import process_lock
from launchers.core.records.ledger import data_folder
path = data_folder() / "locks" / "one.lock"
path.parent.mkdir(parents=True)
other = os.open(path, os.O_RDWR | os.O_CREAT)
flock(other, fcntl.LOCK_EX)
waited = []
def let_go():
    waited.append(path.exists())
    flock(other, fcntl.LOCK_UN)
with process_lock("one", let_go):
    assert waited == [True]
assert not path.exists()
with process_lock("one", let_go):
    pass
assert waited == [True]
print("locked")
"""


def test_a_lock_on_windows_waits_for_its_holder(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOCK_ON_WINDOWS],
        env={**os.environ, "LAUNCH_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "locked\n", done.stderr
