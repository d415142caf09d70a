"""How long `launch spark` takes to end a job in which something fails, and until no rank is left.

Two ranks that train on two one-core workers of a real standalone cluster of this machine.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.measure import median, print_table, quiet_environment
from tests.places import ROOT
from tests.spark import cluster as clusters
from tests.waiting import processes_with, until

# A step every 50 ms; rank 1 does what stands in the file `do`, once it is there.
_SCRIPT = """\
import os, time
import tensorflow as tf
import horovod.tensorflow as hvd
hvd.init()
weights = tf.Variable(tf.ones([64]))
hvd.broadcast_variables([weights], root_rank=0)
optimizer = tf.keras.optimizers.SGD(0.01)
(own, do) = (os.path.join(os.environ["MEETING"], name) for name in (str(hvd.rank()), "do"))
for step in range(100000):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(weights * weights)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients([(tape.gradient(loss, [weights])[0], weights)])
    if step == 10:
        open(own, "w").write(str(os.getpid()))
    if hvd.rank() == 1 and os.path.exists(do):
        exec(open(do).read())
    time.sleep(0.05)
"""
_REASON = re.compile(r"^(?:failed|stopped|lost) +\S+: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Job:
    """A job whose ranks train.

    Attributes:
        launcher: Its command.
        meeting: The folder in which its ranks' numbers of processes stand.
        home: The launcher's.
        cluster: Where it runs.
    """

    launcher: subprocess.Popen[str]
    meeting: Path
    home: Path
    cluster: clusters.Cluster

    def tell_rank_1(self, what: str) -> None:
        """Rank 1 runs ``what`` after its next step."""
        unseen = self.meeting / "do.unseen"
        unseen.write_text(what)
        unseen.rename(self.meeting / "do")

    def kill_rank_1(self) -> None:
        """SIGKILL."""
        os.kill(int((self.meeting / "1").read_text()), signal.SIGKILL)

    def kill_executor_of_rank_1(self) -> None:
        """SIGKILL to the JVM above it, which stands in the command of its guard's parents."""
        pid = int((self.meeting / "1").read_text())
        executors = set(self.cluster.executors().values())
        while pid not in executors:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            if pid <= 1:  # a process between them has ended: one of both
                pid = max(executors)
        os.kill(pid, signal.SIGKILL)

    def kill_driver(self) -> None:
        """SIGKILL to its JVM."""
        found = processes_with(str(self.home))
        (pid,) = (pid for pid, line in found.items() if "deploy.SparkSubmit" in line)
        os.kill(pid, signal.SIGKILL)


EVENTS: Mapping[str, Callable[[Job], None]] = {
    "rank 1 raises": lambda job: job.tell_rank_1("raise ValueError('boom')"),
    "rank 1 leaves by os._exit(0)": lambda job: job.tell_rank_1("os._exit(0)"),
    "rank 1 is killed": Job.kill_rank_1,
    "its executor is killed": Job.kill_executor_of_rank_1,
    "the driver is killed": Job.kill_driver,
    "Ctrl-C": lambda job: job.launcher.send_signal(signal.SIGINT),
    "the launcher is killed": lambda job: job.launcher.kill(),
}


def run(runs: int) -> None:
    """Print the table. Blocks for minutes."""
    found: dict[str, list[tuple[float, float]]] = {event: [] for event in EVENTS}
    said: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "source"
        source.mkdir()
        (source / "train.py").write_text(_SCRIPT)
        with clusters.running(folder / "cluster") as cluster:
            for index in range(runs):
                for number, event in enumerate(EVENTS):
                    place = folder / f"{index}-{number}"
                    *seconds, said[event] = _measured(source, place, cluster, event)
                    found[event].append((seconds[0], seconds[1]))
    rows = []
    for event, each in found.items():
        ends, gone = ([pair[place] for pair in each] for place in (0, 1))
        rows.append([event, _spread(ends), _spread(gone), said[event]])
    print_table(
        f"Two ranks that train on two one-core workers: seconds from the event, medians of {runs} "
        "runs with lowest and highest",
        ["what happens", "the command has ended, s", "no process of the job is left, s", "it says"],
        rows,
    )


def _spread(values: list[float]) -> str:
    return f"{median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def _measured(
    source: Path, place: Path, cluster: clusters.Cluster, event: str
) -> tuple[float, float, str]:
    """Seconds until the command has ended and until nothing is left, and what it said last."""
    meeting = place / "meeting"
    meeting.mkdir(parents=True)
    output = place / "output"
    conf = clusters.conf_words(clusters.CONF)
    words = ["spark", "train.py", "--no-file", "--master", cluster.url, "--instances", "2"]
    words += ["--processes", "1", "--worker-python", sys.executable, *conf]
    environment = quiet_environment(
        **clusters.environment(), LAUNCH_HOME=str(place / "home"), PYTHONPATH=str(ROOT)
    )
    with output.open("w") as stream:
        launcher = subprocess.Popen(
            [sys.executable, "-m", "launchers.cli.main", *words, "--env", f"MEETING={meeting}"],
            cwd=source,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
    job = Job(launcher, meeting, place / "home", cluster)
    try:
        both = meeting / "0", meeting / "1"
        until(lambda: all(path.exists() for path in both), "two ranks train", clusters.SECONDS)
        begin = time.monotonic()
        EVENTS[event](job)
        launcher.wait(clusters.SECONDS)
        ended = time.monotonic() - begin
        until(lambda: not _left(place, cluster), "nothing is left", clusters.SECONDS)
        reasons = _REASON.findall(output.read_text())
        return ended, time.monotonic() - begin, reasons[-1] if reasons else "nothing"
    finally:
        with suppress(ProcessLookupError):
            launcher.kill()
        launcher.wait()


def _left(place: Path, cluster: clusters.Cluster) -> bool:
    return bool(processes_with(str(place)) or cluster.executors())
