"""What reaches the agent's output and the ranks' own logs."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.entrypoints.simulated import HVD, SimulatedJob

MakeJob = Callable[..., SimulatedJob]

INIT = HVD + "import os, sys, time\nhvd.init()\nrank = hvd.rank()\n"


def test_lines_are_whole_and_complete_when_four_ranks_write_at_once(make_job: MakeJob) -> None:
    count = 5000
    job = make_job(hosts=2, processes=2)
    job.script(
        INIT
        + f"""
import threading
def write(stream, mark):
    for number in range({count}):
        stream.write(f"<{{mark}} {{rank}} {{number}} " + "x" * (number % 300) + ">\\n")
threads = [threading.Thread(target=write, args=pair)
           for pair in ((sys.stdout, "out"), (sys.stderr, "err"))]
for thread in threads: thread.start()
for thread in threads: thread.join()
os.write(1, b"no end")
"""
    )
    assert job.run() == [0, 0]
    numbers: dict[tuple[str, str], list[int]] = {}
    for line in job.lines():
        match = re.fullmatch(r"\[host-\d/(\d)\] (.*)", line)
        if not match:
            assert line.startswith("[host-"), line
            continue
        if match[2] == "no end" or match[2].startswith("launch: "):
            continue
        whole = re.fullmatch(r"<(out|err) (\d) (\d+) (x*)>", match[2])
        assert whole, line
        assert whole[2] == match[1]
        assert len(whole[4]) == int(whole[3]) % 300
        numbers.setdefault((match[1], whole[1]), []).append(int(whole[3]))
    assert len(numbers) == 8
    assert all(found == list(range(count)) for found in numbers.values())
    assert len(job.said(r"\] no end$")) == 4


def test_each_ranks_raw_bytes_are_kept(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    logs = job.folder / "logs"
    job.script(INIT + "os.write(1, b'10%%\\r20%%\\n\\xff %d' % rank)\n")
    assert job.run(LAUNCH_LOG_DIR=str(logs)) == [0, 0]
    assert sorted(path.name for path in logs.iterdir()) == ["rank-0.log", "rank-1.log"]
    assert (logs / "rank-1.log").read_bytes() == b"10%\r20%\n\xff 1"
    assert b"launch: proof" in (logs / "rank-0.log").read_bytes()
    assert job.said(r"\] 20%$")


def test_lines_appear_while_the_script_runs(make_job: MakeJob) -> None:
    job = make_job(hosts=1)
    job.script("import time\nprint('epoch 1')\ntime.sleep(1000)\n")
    job.start_all()
    job.until_said(r"host-1/0\] epoch 1")


def test_a_full_disk_under_the_logs_is_one_clear_line(make_job: MakeJob) -> None:
    job = make_job(hosts=1, processes=2)
    logs = job.folder / "logs"
    logs.mkdir()
    (logs / "rank-1.log").symlink_to("/dev/full")
    job.script(INIT + "time.sleep(0.5)\nprint('a line')\ntime.sleep(1000)\n")
    assert job.run(LAUNCH_LOG_DIR=str(logs)) == [1]
    assert job.failure()["reason"] == f"cannot write {logs}/rank-1.log: No space left on device"


def test_ranks_that_have_not_called_init_for_long_are_named_once(make_job: MakeJob) -> None:
    # As long as a rank may take to start on a busy machine.
    job = make_job(hosts=1, processes=3, LAUNCH_INIT_WARNING_SECONDS="6")
    go = job.folder / "go"
    wait = f"while not os.path.exists({str(go)!r}): time.sleep(0.05)\n"
    job.script(
        f"import os, time\nif os.environ['HOROVOD_RANK'] != '1':\n    {wait.rstrip()}\n{INIT}{wait}"
    )
    job.start_all()
    job.until_said("warning")
    go.touch()
    assert job.wait() == [0], job.text()
    assert len(job.said("warning")) == 1
    assert job.said(r"host-1/agent\] launch: warning: no hvd.init\(\) in rank 0 and 2 after 6 s")


def test_a_ranks_environment_has_its_place_and_nothing_of_ours_that_it_could_break(
    make_job: MakeJob,
) -> None:
    job = make_job(hosts=2, processes=2)
    job.script(
        INIT
        + """
place = {name: value for name, value in os.environ.items() if name.startswith("HOROVOD_")}
address, port = (place.pop("HOROVOD_GLOO_RENDEZVOUS_" + name) for name in ("ADDR", "PORT"))
if rank == 3: print("PLACE", sorted(place.items()))
if rank == 3: print("MEETING", address.replace(port, "PORT"))
print("FD", [n for n in os.environ if n.endswith("_FD")], "stdin", sys.stdin.read() == "")
"""
    )
    assert job.run() == [0, 0]
    expected = {
        "HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo", "HOROVOD_CROSS_RANK": "1",
        "HOROVOD_CROSS_SIZE": "2", "HOROVOD_GLOO_IFACE": "lo",
        "HOROVOD_HOSTNAME": "host-2",
        "HOROVOD_LOCAL_RANK": "1", "HOROVOD_LOCAL_SIZE": "2", "HOROVOD_RANK": "3",
        "HOROVOD_SIZE": "4",
    }  # fmt: skip
    assert job.said("PLACE")[0].partition("PLACE ")[2] == str(sorted(expected.items()))
    assert job.said(r"MEETING 127\.0\.0\.1:PORT/[0-9a-f]{32}$")
    assert len(job.said(r"FD \[\] stdin True")) == 4


def test_nothing_stays_in_the_temporary_folder(make_job: MakeJob) -> None:
    job = make_job(hosts=2, processes=2)
    folder = job.folder / "tmp"
    folder.mkdir()
    job.script(INIT)
    assert job.run(TMPDIR=str(folder)) == [0, 0]
    assert list(folder.iterdir()) == []


def test_each_rank_gets_its_own_gpu_where_the_guard_pins(make_job: MakeJob) -> None:
    job = make_job(hosts=1, processes=2, LAUNCH_PIN_GPU="guard", CUDA_VISIBLE_DEVICES="4,5")
    job.script(INIT + "print('GPU', rank, os.environ['CUDA_VISIBLE_DEVICES'])\n")
    assert job.run() == [0]
    assert sorted(job.said("GPU")) == ["[host-1/0] GPU 0 4", "[host-1/1] GPU 1 5"]


def test_fewer_gpus_than_ranks_is_a_failure_before_the_script(make_job: MakeJob) -> None:
    job = make_job(hosts=1, processes=2, LAUNCH_PIN_GPU="guard", CUDA_VISIBLE_DEVICES="4")
    job.script("print('the script ran')\nimport time; time.sleep(1000)")
    assert job.run() == [1]
    assert "1 GPU in CUDA_VISIBLE_DEVICES=4" in job.failure()["reason"]
    assert not job.said(r"host-1/1\] the script ran")


def test_a_secret_is_masked_in_lines_and_logs_whatever_writes_it(make_job: MakeJob) -> None:
    value = "swordfish-9-swordfish"
    job = make_job(hosts=1)
    logs = job.folder / "logs"
    job.script(
        INIT
        + """
import subprocess
key = os.environ["KEY"]
os.write(1, key[:9].encode()); os.write(1, key[9:].encode() + b" raw\\n")
subprocess.run(["sh", "-c", "echo $KEY child"], check=True)
print(key, "python", flush=True)
sys.exit(f"the key {key} is wrong")
"""
    )
    secret = {"LAUNCH_SECRETS": '{"KEY": "env:GIVEN"}', "GIVEN": value}
    assert job.run(LAUNCH_LOG_DIR=str(logs), **secret) == [1]
    assert not job.said(value)
    for writer in ("raw", "child", "python"):
        assert job.said(rf"\] \*\*\* {writer}$")
    log = logs / "rank-0.log"
    assert value.encode() not in log.read_bytes()
    assert log.stat().st_mode & 0o777 == 0o600
