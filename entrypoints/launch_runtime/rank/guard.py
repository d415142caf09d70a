"""A guard's way through its rank: check, prepare, run the user's script, check again."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import Sequence

from launch_runtime import environment as env
from launch_runtime import lines, masking, stamps, state_file, strategies
from launch_runtime.rank import (
    child,
    exit_hook,
    gpu_pinning,
    identity,
    keras_choice,
    lifeline,
    masked_output,
    progress,
    secret_values,
    stacks,
    tracebacks,
    training_watch,
    user_script,
    world_check,
)
from launch_runtime.rank.identity import Promise
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.rank.reporter import Reporter
from launch_runtime.rank.training_watch import TrainingWatch
from launch_runtime.words import Words


def main(arguments: Sequence[str], entrypoints: str) -> None:
    """Runs one rank; blocks until the script ends.

    Args:
        arguments: SCRIPT or -m MODULE with its own, unless SageMaker's parameters name them.
        entrypoints: The folder of guard.py.

    Raises:
        SystemExit: The script's own, or 1 where the rank must not go on or the script failed.
    """
    reporter = _reporter()
    try:
        guard = Guard(reporter, arguments, entrypoints)
    except env.SettingError as error:
        reporter.failing(str(error), 1)
        reporter.line(lines.message(str(error)))
        sys.exit(1)
    except RefusalError as refusal:
        reporter.refuse(refusal)
        sys.exit(1)
    guard.run()


class Guard:
    """Checks and prepares a rank.

    Args:
        reporter: Speaks for the rank.
        arguments: See :func:`main`.
        entrypoints: The folder of guard.py.

    Raises:
        RefusalError: The rank is not the one that was promised.
        environment.SettingError: A variable or the script is not what it has to be.
    """

    def __init__(self, reporter: Reporter, arguments: Sequence[str], entrypoints: str):
        self._reporter, self._pid = reporter, os.getpid()
        self._code: int | None = None
        self._strategy = strategy = strategies.of(os.environ)
        self._words = strategy.words
        place = strategy.place(os.environ, reporter.has_agent)
        os.environ.pop(identity.SEAT, None)
        reporter.rank, reporter.host = place.rank, place.host
        self._promise = identity.promised(os.environ, strategy.replicated)
        identity.check(self._promise, place, os.environ)
        self._script = user_script.find(arguments, os.environ, entrypoints)
        gpu_pinning.pin(os.environ, place.local_rank)
        strategy.prepare(os.environ, place)
        # Secrets that the job definition names are resolved here, once the rank is known to be
        # right and before anything of the user's runs.
        _take_secrets_in(reporter)
        variables = world_check.variables(strategy, os.environ)
        given = world_check.Given(self._promise, place, variables, self._pid)
        evidence = training_watch.is_wanted(os.environ, self._promise.size)
        self._training = TrainingWatch(reporter, evidence, self._pid, strategy)
        check = world_check.watch(given, reporter, strategy, self._training)
        if self._promise.size > 1:
            exit_hook.install(self._before_exit)
        user_script.prepare(self._script, entrypoints)
        refuse = check.end if self._promise.size > 1 else None
        if strategy.settles_keras:
            source, path = self._script.source, self._script.path
            keras_choice.settle(os.environ, source, path, reporter, refuse, self._words.product)
        child.hand_down(os.environ, given, strategy, reporter, evidence, entrypoints)
        progress.watch(os.environ, reporter, self._training.counts)
        if not reporter.has_agent:
            self._warn_later()

    def run(self) -> None:
        """Runs the script; see :func:`main`."""
        # Registered first, so it comes after everything that the script registers.
        atexit.register(self._at_end)
        self._reporter.script_runs = True
        try:
            user_script.execute(self._script)
        except SystemExit as error:
            self._code = _exit_code(error)
            if self._code:
                self._failing(error, self._code, f"the script called sys.exit({error.code!r})")
            else:
                self._ended()
            raise
        except KeyboardInterrupt as error:
            self._code = 130
            if not self._reporter.has_agent:
                tracebacks.show(error)
            sys.excepthook = lambda *_: None  # it is shown, or an agent has asked for it
            raise
        except BaseException as error:
            self._code = 1
            self._failing(error, self._code, tracebacks.describe(error))
            tracebacks.show(error)
            sys.exit(1)
        self._code = 0
        self._ended()

    def _ended(self) -> None:
        atexit.register(self._reporter.ended)
        self._training.stand_by()

    def _failing(self, error: BaseException, code: int, reason: str) -> None:
        consequence = tracebacks.is_consequence(error, self._strategy.is_consequence)
        mute = isinstance(error, SystemExit) and isinstance(error.code, int)
        self._reporter.failing(reason, code, consequence, mute)

    def _at_end(self) -> None:
        """The script, its threads and what it registered for its end are through."""
        if os.getpid() != self._pid:
            self._training.finish(self._code or 0)
            return
        if self._code:
            return
        if self._refuses():
            masked_output.settle()
            exit_hook.at_once(1)
        self._training.finish()
        if not self._reporter.initialised:
            self._reporter.proof(self._words.alone())

    def _before_exit(self, status: int) -> int:
        """The script calls ``os._exit``, here or in a process that it has forked."""
        if os.getpid() != self._pid:
            self._training.finish(status)
        elif status == 0:
            if self._refuses():
                status = 1
            else:
                self._training.finish()
        masked_output.settle()
        return status

    def _refuses(self) -> bool:
        """Whether the rank, which is to end well, was no rank of the job; says so then."""
        if self._promise.size == 1 or self._reporter.initialised:
            return False
        self._reporter.refuse(_never_joined(self._reporter.rank, self._promise, self._words))
        return True

    def _warn_later(self) -> None:
        if self._promise.size == 1:
            return
        after = env.seconds(os.environ, "LAUNCH_INIT_WARNING_SECONDS", 300.0)
        timer = threading.Timer(after, self._warn, (after,))
        timer.daemon = True
        timer.start()

    def _warn(self, after: float) -> None:
        if not self._reporter.initialised:
            self._reporter.line(
                lines.warning(
                    f"{self._words.join} has not been called after {after:g} s; "
                    + self._words.late.format(size=self._promise.size)
                )
            )


def _take_secrets_in(reporter: Reporter) -> None:
    """The secrets' values into the environment, and out of all that the rank writes."""
    taken = secret_values.take_in(os.environ)
    if taken.parts and not reporter.secrets(taken.parts):
        try:
            masked_output.start(taken.parts)
        except OSError as error:
            found = f"masking cannot start: {error.strerror}"
            raise RefusalError("secrets masked in the output", found) from None
    for name in taken.unmasked:
        reporter.line(
            lines.warning(
                f"the value of the secret {name} has fewer than {masking.SHORTEST} characters a "
                "line, and is not masked where it is printed"
            )
        )


def _reporter() -> Reporter:
    """Takes what the agent handed over out of the environment that the script will see."""
    status = os.environ.pop("LAUNCH_STATUS_FD", "")
    line = os.environ.pop("LAUNCH_LIFELINE_FD", "")
    if line.isdigit() and status.isdigit():
        lifeline.arm(int(line))
    stacks.arm(os.environ)
    if status.isdigit():
        os.set_inheritable(int(status), False)
    stamp = stamps.take(os.environ)
    state = os.environ.get("LAUNCH_RANK_STATE") or state_file.create()
    if status.isdigit():
        return Reporter(state, int(status))
    return Reporter(state, stamp=stamp)


def _exit_code(error: SystemExit) -> int:
    """The process's exit code for it, as Python has it."""
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1


def _never_joined(rank: int, promise: Promise, words: Words) -> RefusalError:
    return RefusalError(
        f"one job of {promise}",
        words.never.format(rank=rank, size=promise.size),
        words.why_never,
        words.fix_never,
    )
