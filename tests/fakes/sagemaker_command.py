"""The command line of the loopback service (see :mod:`tests.fakes.sagemaker_service`)."""

from __future__ import annotations

import argparse
import signal
import threading

from tests.fakes.faults import THROTTLED, Refuse
from tests.fakes.job_scenarios import EVERY_DESCRIBE, Pace, Scenario
from tests.fakes.log_lines import Generated, Lines
from tests.fakes.sagemaker_service import SageMakerService


def run(arguments: list[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT."""
    asked = _parser().parse_args(arguments)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with SageMakerService(asked.port) as aws:
        aws.jobs.scenario = scenario_of(asked)
        aws.jobs.checks_account = not asked.any_account
        if asked.throttle_every:
            aws.faults.add(Refuse(THROTTLED), "logs", every=asked.throttle_every)
        for name, value in aws.environment().items():
            print(f"export {name}={value}")
        print(f"# role {aws.role_arn}, bucket {aws.bucket}", flush=True)
        ended.wait()


def scenario_of(asked: argparse.Namespace) -> Scenario:
    """The job that the options describe."""
    hosts = {f"algo-{host}": _made(host, asked.lines) for host in range(1, asked.hosts + 1)}
    pace = EVERY_DESCRIBE if asked.seconds is None else Pace(seconds=asked.seconds)
    return Scenario(outcome=asked.outcome, reason=asked.reason, pace=pace, lines=hosts)


def _made(host: int, count: int) -> Lines:
    # Five lines a second of each host, some in the same millisecond on all of them.
    return Generated(count, lambda index: (index * 200, f"host {host}: line {index} of {count}"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fakes.sagemaker_service",
        description="A loopback AWS for training jobs; prints the variables to set.",
    )
    parser.add_argument("--port", type=int, default=0, help="0 for any that is free")
    parser.add_argument("--hosts", type=int, default=1, help="hosts that write a log")
    parser.add_argument("--lines", type=int, default=0, help="lines of each host")
    parser.add_argument("--seconds", type=float, help="of each state; else a state a question")
    parser.add_argument("--outcome", default="Completed", help="Completed, Failed, ...")
    parser.add_argument("--reason", default="", help="FailureReason")
    parser.add_argument("--throttle-every", type=int, default=0, help="n-th request for logs")
    parser.add_argument(
        "--any-account", action="store_true", help="take a role and input that are not there"
    )
    return parser
