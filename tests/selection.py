"""Which tests there are of a kind, in which order they run, and how large a storm is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from xdist.scheduler import LoadGroupScheduling

# Tests that use one of these start interpreters; a test file may carry the marker, too.
_STARTING_FIXTURES = {"launch", "make_job", "warm_command"}
# What lies in one of these drives a cloud's own client against a service of ours.
_SERVICE_FOLDERS = {"fakes", "service"}
# What takes long comes first, so that no worker is left alone with it at the end.
_ORDER = ("docker", "horovod", "pip_network", "storm", "processes")
# More workers would run out of memory before they ran out of cores: a rank takes half a gigabyte.
_MOST_WORKERS = 8


def storm(full: int, small: int) -> int:
    """How often a storm's test repeats what must hold: in full where CI runs."""
    return full if os.environ.get("CI") else small


def workers() -> int:
    """How many tests run at once on this machine: one more than it has cores, as many wait."""
    return min(len(os.sched_getaffinity(0)) + 1, _MOST_WORKERS)


def arrange(items: list[pytest.Item]) -> None:
    """Mark what starts interpreters, what asks services, and what runs alone of its kind; sort."""
    for item in items:
        if _STARTING_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.processes)
        if _SERVICE_FOLDERS & set(item.path.parts):
            item.add_marker(pytest.mark.services)
        if item.get_closest_marker("docker") or _is_horovod_on_spark(item):
            # Some count what is in the engine; two hosts with ranks fill two cores. Horovod on
            # Spark tries each network of the machine, and waits for those that containers had.
            item.add_marker(pytest.mark.xdist_group("docker"))
    items.sort(key=_rank)


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """For a run in ten minutes: of each file's tests that start ranks or interpreters the first,
    without storms over real ranks. The unit tests stay."""
    begun: set[Path] = set()
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        if _rank(item) == len(_ORDER):
            kept.append(item)
        elif item.path in begun or _is_storm_of_ranks(item):
            left.append(item)
        else:
            begun.add(item.path)
            kept.append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def show_first_failures(reporter: pytest.TerminalReporter) -> None:
    """Print why a test had to be run once more, which pytest-rerunfailures keeps to itself."""
    for report in reporter.stats.get("rerun", ()):
        reporter.write_sep("_", f"{report.nodeid}, at first")
        reporter.write_line(report.longreprtext)
        for title, text in report.sections:
            reporter.write_sep("-", title)
            reporter.write_line(text)


def _rank(item: pytest.Item) -> int:
    return next((n for n, kind in enumerate(_ORDER) if item.get_closest_marker(kind)), len(_ORDER))


def _is_horovod_on_spark(item: pytest.Item) -> bool:
    return item.get_closest_marker("horovod") is not None and "spark" in item.path.parts


def _is_storm_of_ranks(item: pytest.Item) -> bool:
    return all(map(item.get_closest_marker, ("horovod", "storm")))


class ByFile(LoadGroupScheduling):
    """A file's tests stay together, for the fixtures that they share; groups go beyond files."""

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return nodeid.partition("::")[0] if scope == nodeid else scope
