"""What spark_driver.py does: slots, executors, ranks, one verdict."""

from __future__ import annotations

import os
import threading
import time
import traceback
from typing import Any, NoReturn, Sequence

from launch_runtime import lines, stamps
from launch_runtime.environment import SettingError
from launch_runtime.failures import JOINING, STARTING, TRAINING, Failure
from launch_runtime.host import own_environment
from launch_runtime.host.console import Console
from launch_runtime.host.peers.door import PortError
from launch_runtime.spark import (
    executors,
    horovod_start,
    jvm_end,
    results,
    settings,
    slots,
    torch_start,
)
from launch_runtime.spark.acceptance import Acceptance
from launch_runtime.spark.course import START_FIX, Course
from launch_runtime.spark.link import Reception
from launch_runtime.spark.results import ResultFile
from launch_runtime.spark.settings import SparkJob
from launch_runtime.spark.watch import Watch

NAME = "driver"
_FLUSH_SECONDS = 10.0
_STOPPING_SECONDS = 60.0
_SETTLE_SECONDS = 2.5  # in which a rank's own word comes in, where Horovod tells of its end first
_REMARKS = 40  # lines of Horovod's own processes; a traceback has fewer
_TORCH = "torch"


def main(arguments: Sequence[str], entrypoints: str) -> NoReturn:
    """Runs the job; blocks until its end, and ends this process.

    Args:
        arguments: ``SCRIPT`` or ``-m MODULE``, and its own.
        entrypoints: The folder of the bundle.
    """
    Driver(arguments, entrypoints).run()


class Driver:
    """See :func:`main`."""

    def __init__(self, arguments: Sequence[str], entrypoints: str):
        self._arguments, self._entrypoints = arguments, entrypoints
        self._stamp = stamps.of(own_environment.take_nonce())
        self._console = Console(NAME)
        self._result = ResultFile("")
        self._session: Any = None
        self._course: Course | None = None
        self._remarks = 0
        self._ending = threading.Lock()
        self._watch = Watch(self._stopped, self._end)

    def run(self) -> NoReturn:
        """From the first word to the last."""
        self._watch.start()
        # Of Horovod's thread that waits for Spark: what it raises is part of the verdict.
        threading.excepthook = lambda told: self._remark(_sentence(told.exc_value))
        try:
            job = self._read()
            self._open(job)
            self._refuse_another_attempt()
            self._train(job, *self._await_executors(job))
        except _RefusedError as refused:
            self._end(Failure(NAME, str(refused), JOINING, fix=refused.fix))
        except KeyboardInterrupt:  # by PySpark's handler; the watch has heard of it, and ends this
            self._watch.keep_handlers()
            threading.Event().wait()
            raise
        except Exception as error:  # Spark's own, whatever it may be: it has to end with a verdict
            self._end(Failure(NAME, f"the driver failed: {_sentence(error)}", STARTING))

    def _read(self) -> SparkJob:
        """What the driver was told, which stands in Spark's configuration."""
        from pyspark import SparkConf, SparkContext

        # The JVM has it: SparkConf is empty for a Python that does not speak with one yet.
        SparkContext._ensure_initialized()
        told = dict(SparkConf().getAll())
        self._result = ResultFile(told.get(settings.RESULT, ""))
        self._result.tell(stamp=self._stamp)  # without it a refusal is another job's
        try:
            job = settings.read(told, self._arguments, self._entrypoints, self._stamp)
        except SettingError as error:
            raise _RefusedError(str(error)) from None
        self._result.tell(world_size=job.settings.ranks)
        return job

    def _open(self, job: SparkJob) -> None:
        """Blocks until the cluster has accepted the application."""
        from pyspark.sql import SparkSession

        builder = SparkSession.builder
        # They are about barrier stages, of which a Horovod job has none.
        for name, value in torch_start.SETTINGS.items():
            builder = builder.config(name, value)
        now = time.monotonic()
        acceptance = Acceptance(job.slots_seconds, job.settings.reminder, self._say, now)
        with self._watch.accepted(acceptance):
            self._session = builder.getOrCreate()
        self._watch.keep_handlers()

    def _refuse_another_attempt(self) -> None:
        """YARN counts neither a preemption nor a lost node against spark.yarn.maxAppAttempts, and
        starts such a driver once more."""
        attempt = attempt_of(self._session.sparkContext)
        if attempt < 2:
            return
        if self._result.has_succeeded():  # by the first attempt's word, which stands
            self._result = ResultFile("")
        raise _RefusedError(
            f"this is attempt {attempt} of the application: the cluster has ended an earlier one "
            "and started the driver again, which would train a second time",
            "run the same command again, which goes on from the last checkpoint",
        )

    def _await_executors(self, job: SparkJob) -> tuple[str, str]:
        """Blocks until there is a slot for each rank; the executors' Python, and the interface by
        which they and the driver reach each other."""
        found = slots.await_slots(self._session, job, self._say)
        self._result.tell(slots=found.fields())
        if found.problem:
            raise _RefusedError(found.problem, found.fix)
        address, _ = addresses(self._session.sparkContext)
        seen = executors.look_at_executors(self._session, job, self._say, found, address)
        self._result.tell(versions=dict(seen.versions))
        if seen.problem:
            raise _RefusedError(seen.problem, seen.fix)
        return job.executable or seen.python, seen.interface

    def _train(self, job: SparkJob, executable: str, interface: str) -> NoReturn:
        course = self._course = Course(
            job.settings, job.start_seconds, self._console.pass_on, self._say
        )
        address, listened = addresses(self._session.sparkContext)
        try:
            reception = Reception(course, job.settings.ranks, address, self._say, listened)
        except PortError as error:
            raise _RefusedError(str(error)) from None
        payload = {
            "contact": reception.contact,
            "arguments": list(job.arguments),
            "stamp": self._stamp,
            "gpus": job.gpus,
        }
        course.starts(time.monotonic())
        self._watch.follow(course, self._session)
        found, trouble = self._ranks(job, payload, executable, interface)
        if trouble:
            self._await_verdict(course)
        reception.close()
        self._conclude(job, course, found, trouble)

    def _ranks(
        self, job: SparkJob, payload: dict[str, Any], executable: str, interface: str
    ) -> tuple[list[Any], str]:
        """Starts the ranks and blocks until they have ended: their results, and why there are none
        where the cluster says so."""
        assert self._course is not None
        if job.settings.strategy.name == _TORCH:
            trouble = torch_start.run(self._session, job, payload, self._remark)
            given = self._course.results
            return [given.get(rank) for rank in range(job.settings.ranks)], trouble
        try:
            return horovod_start.run(job, payload, executable, interface, self._remark), ""
        except Exception as error:  # of Horovod, or of Spark
            return [], _sentence(error)

    def _await_verdict(self, course: Course) -> None:
        """Blocks until one is known, for a moment at most: whoever ended says so itself, or falls
        silent."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while course.look(time.monotonic()) is None and time.monotonic() < deadline:
            time.sleep(0.05)

    def _conclude(self, job: SparkJob, course: Course, found: list[Any], trouble: str) -> NoReturn:
        """The verdict, from what the ranks gave and what was seen of them."""
        verdict = course.look(time.monotonic())
        if verdict is None and trouble:
            verdict = self._without_word(course, trouble)
        verdict = verdict or results.counted(found, job.settings, course)
        proof = ""
        if verdict is None:
            verdict, proof = results.judged(found, job.settings)
        self._end(verdict, proof)

    def _without_word(self, course: Course, trouble: str) -> Failure:
        """Of ranks that ended before they could say why."""
        if not course.began:
            what = f"the ranks could not be started: {trouble}"
            return Failure(NAME, what, STARTING, fix=START_FIX)
        unfinished = course.unfinished
        if unfinished:
            failure = course.lost(unfinished[0], time.monotonic())
            return failure._replace(reason=f"{failure.reason}; {trouble:.150}")
        return Failure(NAME, f"the ranks have ended, and their stage failed: {trouble}", TRAINING)

    # -- the end -------------------------------------------------------------------------------

    def _stopped(self, reason: str, name: str, code: int) -> None:
        """Somebody asked for the end: at once where no rank runs yet, or Spark is gone and the
        executors with it. From the watch's thread."""
        failure = Failure(NAME, reason, TRAINING, signal=name or None, stop=True, code=code)
        if self._course is None or not name:
            self._session = self._session if name else None
            # A Ctrl-C ends Spark too, and sooner than the ranks: that is what it was stopped by.
            known = self._course.verdict if self._course is not None else None
            self._end(known or failure)
        self._course.claim(failure, time.monotonic())

    def _end(self, failure: Failure | None, proof: str = "") -> NoReturn:
        """Ends this process, with whatever trouble. Also from the watch's thread, where nothing
        comes back from Spark."""
        self._ending.acquire()  # for good: the first end counts
        code = results.exit_code(failure)
        # A Spark that cannot stop does not keep the driver.
        last = threading.Timer(_STOPPING_SECONDS, jvm_end.give_up, (self._session, code))
        last.daemon = True
        last.start()
        try:
            self._tell_end(failure, proof)
            self._watch.let_go()
            jvm_end.end(self._session, code)
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code or 1)

    def _tell_end(self, failure: Failure | None, proof: str) -> None:
        """Writes the result, and says how the job has ended."""
        self._result.tell_end(failure, proof, self._course)
        trouble = self._result.write()
        if trouble:
            self._say(f"warning: {trouble}")
        if failure is None:
            self._console.say(
                lines.proof(proof, self._stamp) if proof else lines.message(_UNPROVEN)
            )
        else:
            self._console.say(failure.line(self._stamp))
            if failure.fix:
                self._say(f"fix: {failure.fix}")
            self._console.pass_on(results.unsaid(self._course))
        self._console.flush(_FLUSH_SECONDS)

    def _say(self, text: str) -> None:
        self._console.say(lines.message(text))

    def _remark(self, text: str) -> None:
        """What Horovod's own processes write: its errors, of which a job has few."""
        self._remarks += 1
        if self._remarks <= _REMARKS:
            self._console.say(lines.one_line(text, limit=2000))
        elif self._remarks == _REMARKS + 1:
            self._say(f"what Horovod or torchrun write beyond {_REMARKS} lines is left out")


_UNPROVEN = "warning: all ranks ended well, and none has proven the world that it was in"


class _RefusedError(Exception):
    """The job cannot be started; the text says why."""

    def __init__(self, reason: str, fix: str = ""):
        super().__init__(reason)
        self.fix = fix


def addresses(context: Any) -> tuple[str, str]:
    """Where ranks find the driver, and where it listens, "" for wherever they may come from: with a
    master in this machine they are all here, and nobody else is heard."""
    if context.master.startswith("local"):
        return "127.0.0.1", "127.0.0.1"
    conf = context.getConf()
    return conf.get("spark.driver.host", "127.0.0.1"), conf.get("spark.driver.bindAddress", "")


def attempt_of(context: Any) -> int:
    """Which attempt of its application a driver is, from 1; 1 too where a cluster has no attempts
    (all but YARN running the driver: ``applicationAttemptId`` of SparkContext)."""
    told = context._jsc.sc().applicationAttemptId()
    return int(told.get()) if told.isDefined() else 1


def _sentence(error: BaseException | None) -> str:
    """An error in one line."""
    text = lines.one_line(str(error), limit=300)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
