"""The process that owns one Spark job: runs spark-submit, keeps the driver's lines, and says how
it ended (see :mod:`launchers.machine.supervised.supervisor`).

    python -m launchers.spark.service.supervisor JOB_FOLDER

Of a driver in the cluster neither lines nor exit code are here: its result file says how it ended.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from launchers.core.model.jobs import FAILED, SUCCEEDED
from launchers.core.proof import Expected, Said, Verdict, expected_of, verdict
from launchers.core.records.nonce import masked
from launchers.machine.supervised.supervisor import Child, Supervisor, ending_of
from launchers.spark.job_folder import SparkFolder
from launchers.spark.service.driver_result import DriverResult, read_result
from launchers.spark.service.in_cluster import ending_command
from launchers.spark.service.reading import driver_result_of, is_in_cluster, rank_environment_of
from launchers.spark.service.spark_log import SparkLog
from launchers.spark.service.submission import inherited_environment, start

_TAGGED = re.compile(r"\[[A-Za-z0-9._-]+/(?:\d+|agent)\]")
_DRIVER = "[driver/agent] "
# The command that ends an application of a cluster starts a JVM of its own.
_GRACE_IN_CLUSTER_SECONDS = 9.0


class SparkSupervisor(Supervisor):
    """Runs one spark-submit."""

    provider = "spark"
    folder: SparkFolder

    def __init__(self, folder: SparkFolder):
        super().__init__(folder)
        self._in_cluster = is_in_cluster(self.document)
        if self._in_cluster:
            self.grace_seconds = _GRACE_IN_CLUSTER_SECONDS
        self._spark = SparkLog()
        self._spark_file: IO[str] | None = None
        self._submit: Child | None = None
        self._ending_command: list[str] | None = None

    def expects(self, document: Mapping[str, Any]) -> Expected:
        """See :meth:`Supervisor.expects`."""
        return expected_of(rank_environment_of(document))

    def work(self) -> None:
        """See :meth:`Supervisor.work`."""
        path = self.folder.spark_log
        self.own_line(f"spark-submit to {self.document['master']}; Spark's own log is {path}")
        with path.open("a", encoding="utf-8", errors="surrogateescape", buffering=1) as file:
            self._spark_file = file
            self._submit = start(self.document, self.folder)
            self.follow(self._submit, self._submit.stdout, self._driver_line)
            self.follow(self._submit, self._submit.stderr, self._spark_line)
            self.wait()
        self._tell_the_end()

    # -- its output ----------------------------------------------------------------------------

    def _driver_line(self, text: str) -> None:
        """Python's output, and what it prints to stderr: Spark hands on both as one."""
        self.job_line(text if _TAGGED.match(text) else _DRIVER + text)

    def _spark_line(self, text: str) -> None:
        self._spark.see(text)
        self._keep(text)

    def _keep(self, text: str) -> None:
        assert self._spark_file is not None
        try:
            self._spark_file.write(masked(text, self.expected.nonce) + "\n")
        except OSError as error:
            self.end_for_want_of_room(error, self.folder.spark_log)

    def _tell_the_end(self) -> None:
        """What somebody who reads the job's log needs, where the driver has not said it there."""
        result = self._result()
        if self._in_cluster and result:
            for line in result.lines():
                self.job_line(line)
        if self.ending is None and self._said_by_nobody(result):
            for text in self._spark.last:
                self.job_line(f"{_DRIVER}spark: {text}")

    def _said_by_nobody(self, result: DriverResult | None) -> bool:
        code = self._submit.returncode if self._submit else 0
        return bool(code) and not self.watch.failure and not (result and result.reason)

    # -- its end -------------------------------------------------------------------------------

    def signal_child(self, child: Child, number: signal.Signals) -> None:
        """The whole group: spark-submit's scripts, its JVM, and the driver's Python below it."""
        try:
            os.killpg(child.pid, number)
        except (ProcessLookupError, PermissionError):
            child.send_signal(number)

    def look_at_children(self) -> None:
        """What may outlive spark-submit: processes that hold its output, an application in the
        cluster."""
        code = self._submit.poll() if self._submit else None
        if code is not None and self.ending is None:
            self.end_soon()
        if not self._in_cluster or self._ending_command is not None:
            return
        # A spark-submit that was killed, or has lost its cluster, leaves a job under way.
        if self.ending is not None or (code and self._result() is None):
            self._end_in_cluster()

    def _end_in_cluster(self) -> None:
        if not self._spark.application:
            return  # its log may still say it
        command = ending_command(self.document, self._spark.application)
        self._ending_command = command
        if not command:
            return
        self.own_line(f"ending {self._spark.application}: {command[0]}")
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=inherited_environment(self.document),
            start_new_session=True,
        )
        self.follow(child, child.stdout, self._keep)

    def said(self) -> Said:
        """See :meth:`Supervisor.said`."""
        assert self._submit is not None
        code, result = self._submit.returncode, self._result()
        ended = f"spark-submit ended with {ending_of(code)}"
        if result is not None and result.state != SUCCEEDED:
            # What no rank did is told in the driver's own words.
            of_a_rank = (self.watch.failure or {}).get("rank") is not None
            reason = "" if of_a_rank else result.reason or ended
            return Said(FAILED, reason, explained=not of_a_rank)
        if self._in_cluster:
            if result is None:
                place = driver_result_of(self.document)
                return Said(FAILED, self._with_error(f"{ended}, and the driver left no {place}"))
            return Said(SUCCEEDED, words="the driver's result says so")
        if code:
            return Said(FAILED, "" if self.watch.failure else self._with_error(ended))
        return Said(SUCCEEDED, words=ended)

    def judged(self, said: Said) -> Verdict:
        """The driver's result proves the world where its output isn't here."""
        result = self._result()
        proof = result.proof if result and self._in_cluster else ""
        found = verdict(said, self.watch, self.expected, proof)
        if found.state == FAILED and not found.fix and result:
            return replace(found, fix=result.fix)
        return found

    def exit_codes(self) -> dict[str, int | None]:
        """spark-submit's."""
        return {"spark-submit": self._submit.returncode} if self._submit else {}

    def _result(self) -> DriverResult | None:
        return read_result(driver_result_of(self.document), self.expected.stamp)

    def _with_error(self, text: str) -> str:
        return f"{text}: {self._spark.error}" if self._spark.error else text


def main() -> None:
    """Entry of ``python -m launchers.spark.service.supervisor``."""
    SparkSupervisor(SparkFolder(Path(sys.argv[1]))).run()


if __name__ == "__main__":
    main()
