"""Fixtures that every folder of tests may use, and how the whole suite is run."""

from __future__ import annotations

import gc
import itertools
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import processes, selection
from tests.cli.command import WARM, Launch

# The same examples in every run, and no judgement of how fast a busy machine makes them.
settings.register_profile(
    "launch", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("launch")

# What a test that passes may take until the last of what it started is gone.
ENDING_SECONDS = 30.0
_FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--brief",
        action="store_true",
        help="of each file's tests that start interpreters or ranks, the first alone",
    )


def pytest_configure() -> None:
    # Whoever runs the tests may have defaults of their own.
    os.environ["LAUNCH_CONFIG_DIR"] = str(Path(__file__).with_name("no-defaults"))
    # Thousands of interpreters are started: none of them compiles again what another one has.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    processes.hear_interrupts()
    processes.adopt_orphans()


def pytest_xdist_auto_num_workers() -> int:
    return selection.workers()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> selection.ByFile:
    return selection.ByFile(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    # All that is made here stays: looking through it again and again takes a quarter of the time.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    selection.arrange(items)
    if config.getoption("--brief"):
        selection.leave_out(config, items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_FAILED] = report.failed or item.stash.get(_FAILED, False)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    selection.show_first_failures(terminalreporter)


@pytest.fixture(scope="session")
def tmp_path_factory(tmp_path_factory: pytest.TempPathFactory) -> pytest.TempPathFactory:
    """pytest's own, which looks at no other folder of the run before it makes one."""
    numbers = itertools.count()

    def mktemp(basename: str, numbered: bool = True) -> Path:
        name = f"{basename}-{next(numbers)}" if numbered else basename
        folder = tmp_path_factory.getbasetemp() / name
        folder.mkdir(mode=0o700)
        return folder

    tmp_path_factory.mktemp = mktemp  # type: ignore[method-assign]
    return tmp_path_factory


@pytest.fixture(autouse=True)
def no_process_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Ends what the test started and left, which is a test's fault in itself."""
    before = set(processes.descendants())
    yield
    failed = request.node.stash.get(_FAILED, False)
    left = processes.end_others_than(before, 0 if failed else ENDING_SECONDS)
    if left and not failed:
        pytest.fail("processes that this test left behind:\n" + "\n".join(left))


@pytest.fixture(scope="session")
def warm_command() -> Iterator[None]:
    """What commands are forked from, started before a test that uses it."""
    WARM.start()
    yield
    WARM.stop()


@pytest.fixture
def launch(warm_command: None, tmp_path: Path) -> Launch:
    """The command, with a data folder and a working folder of its own."""
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    return Launch(home, folder)
