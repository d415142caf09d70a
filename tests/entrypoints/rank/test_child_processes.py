"""Scripts that run Horovod, or anything else, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.entrypoints.rank.guard_runs import ONE_HOST, TWO_HOSTS, run_guard, under_mpirun
from tests.entrypoints.simulated import STANDIN, clean_environment, write_script

pytestmark = pytest.mark.processes

TWO = {**TWO_HOSTS, **under_mpirun(2)}
PROOF = "launch: proof: world size 2: 2 hosts x 1 rank, MPI"
TRAIN = """
def train():
    import horovod.anyframework as hvd
    hvd.init()
    print("trained", hvd.size(), flush=True)
"""

# How a script may run its training elsewhere.
WAYS = {
    "os.fork": TRAIN + """
import os
if os.fork() == 0:
    train()
    os._exit(0)
os.wait()
""",
    "multiprocessing fork": TRAIN + """
import multiprocessing
process = multiprocessing.get_context("fork").Process(target=train)
process.start()
process.join()
""",
    "multiprocessing spawn": TRAIN + """
if __name__ == "__main__":
    import multiprocessing
    process = multiprocessing.get_context("spawn").Process(target=train)
    process.start()
    process.join()
""",
    "multiprocessing forkserver": TRAIN + """
if __name__ == "__main__":
    import multiprocessing
    process = multiprocessing.get_context("forkserver").Process(target=train)
    process.start()
    process.join()
""",
    "a process pool": TRAIN + """
if __name__ == "__main__":
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(1) as pool:
        pool.submit(train).result()
""",
    "subprocess": """
import subprocess, sys
subprocess.run([sys.executable, "real.py"], check=True)
""",
    "a shell": """
import os, sys
sys.exit(os.system(sys.executable + " real.py"))
""",
    "a child of a child": """
import subprocess, sys
code = "import subprocess, sys; subprocess.run([sys.executable, 'real.py'], check=True)"
subprocess.run([sys.executable, "-c", code], check=True)
""",
    "exec": """
import os, sys
os.execv(sys.executable, [sys.executable, "real.py"])
""",
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_horovod_in_a_child_process_counts(way: str, tmp_path: Path) -> None:
    write_script(tmp_path / "source", TRAIN + "train()\n", "real.py")
    ended = run_guard(tmp_path, WAYS[way], **TWO)
    assert ended.code == 0, ended.stdout + ended.stderr
    assert ended.ours == [PROOF]
    assert ended.printed == ["trained 2"]


@pytest.mark.parametrize("way", [way for way in WAYS if way != "exec"])
def test_a_child_with_a_wrong_size_ends_the_whole_rank(way: str, tmp_path: Path) -> None:
    wrong = TRAIN.replace("hvd.init()", "hvd.init(comm=[0])")
    write_script(tmp_path / "source", wrong + "train()\n", "real.py")
    text = WAYS[way].replace(TRAIN, wrong) + "if __name__ == '__main__': print('went on')\n"
    ended = run_guard(tmp_path, text, **TWO)
    assert ended.code != 0
    assert ended.printed == []
    assert "a part of the ranks" in ended.failure()["reason"]


def test_a_child_with_an_environment_of_its_own_is_named_at_the_end(tmp_path: Path) -> None:
    write_script(tmp_path / "source", TRAIN + "train()\n", "real.py")
    text = f"""
import subprocess, sys
subprocess.run([sys.executable, "real.py"], env={{"PYTHONPATH": {str(STANDIN)!r}}})
"""
    ended = run_guard(tmp_path, text, **TWO)
    assert ended.code == 1
    assert "an environment of its own" in ended.stdout


# A launcher inside the script: ranks in children, with places that it made up.
NESTED = """
import os, subprocess, sys
for rank in range(2):
    place = {"HOROVOD_RANK": str(rank), "HOROVOD_SIZE": "2", "HOROVOD_LOCAL_RANK": str(rank),
             "HOROVOD_LOCAL_SIZE": "2", "HOROVOD_CROSS_RANK": "0", "HOROVOD_CROSS_SIZE": "1",
             "HOROVOD_HOSTNAME": "localhost", "HOROVOD_CONTROLLER": "gloo",
             "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1", "HOROVOD_GLOO_RENDEZVOUS_PORT": "1234"}
    subprocess.run([sys.executable, "real.py"], env={**os.environ, **place})
print("went on")
"""

UNDER_HOROVODRUN = {
    "HOROVOD_RANK": "0", "HOROVOD_SIZE": "2", "HOROVOD_LOCAL_RANK": "0", "HOROVOD_LOCAL_SIZE": "1",
    "HOROVOD_GLOO_RENDEZVOUS_PORT": "999", "HOROVOD_CONTROLLER": "gloo",
}  # fmt: skip


@pytest.mark.parametrize(
    "environment", [TWO, {**TWO_HOSTS, **UNDER_HOROVODRUN}, ONE_HOST], ids=["mpi", "gloo", "alone"]
)
def test_a_launcher_inside_the_script_is_refused_by_name(
    environment: dict[str, str], tmp_path: Path
) -> None:
    write_script(tmp_path / "source", TRAIN + "train()\n", "real.py")
    ended = run_guard(tmp_path, NESTED, **environment)
    assert ended.code != 0
    assert ended.printed == []
    assert "a launcher inside the script (horovod.run, horovodrun or mpirun)" in ended.stdout


def test_children_see_their_own_sys_path_and_any_other_sitecustomize(tmp_path: Path) -> None:
    source = tmp_path / "source"
    others = tmp_path / "others"
    write_script(others, "import sys\nsys.customized = True\n", "sitecustomize.py")
    look = "import sys, json; print(json.dumps([sys.path, getattr(sys, 'customized', False), "
    look += "sorted(n for n in sys.modules if 'launch' in n)]))"
    write_script(source, look, "child.py")
    text = "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'], check=True)\n"
    ended = run_guard(tmp_path, text, **ONE_HOST, PYTHONPATH=f"{others}{os.pathsep}{STANDIN}")
    alone = subprocess.run(
        [sys.executable, "child.py"], cwd=source, capture_output=True, text=True, check=True,
        env={**clean_environment(), "PYTHONPATH": f"{others}{os.pathsep}{STANDIN}"},
    )  # fmt: skip
    assert ended.printed == alone.stdout.splitlines()
    assert ", true, []]" in ended.printed[0]


def test_a_sitecustomize_that_fails_fails_as_it_would_alone(tmp_path: Path) -> None:
    others = tmp_path / "others"
    write_script(others, "raise ValueError('in sitecustomize')\n", "sitecustomize.py")
    text = (
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(1)'], check=True)\n"
    )
    ended = run_guard(tmp_path, text, **ONE_HOST, PYTHONPATH=str(others))
    assert ended.printed == ["1"]
    # Once by the guard's own start, once by the child's.
    assert ended.stderr.count("ValueError: in sitecustomize") == 2


def test_nothing_stays_in_the_temporary_folder(tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    write_script(tmp_path / "source", TRAIN + "train()\n", "real.py")
    assert run_guard(tmp_path, WAYS["subprocess"], **TWO, TMPDIR=str(folder)).code == 0
    assert list(folder.iterdir()) == []
