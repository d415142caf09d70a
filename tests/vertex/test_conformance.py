"""What holds on every cloud, on Vertex AI."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.command import Launch
from tests.clouds.again import Refusals, TheSameCommandAgain
from tests.clouds.answers import Answers
from tests.clouds.doubts import Doubts
from tests.clouds.following import Following
from tests.clouds.interrupts import Interrupts
from tests.clouds.notices import Notices
from tests.clouds.studies import Studies
from tests.clouds.sweeps import Sweeps
from tests.clouds.waiting import Waiting
from tests.clouds.watching import Watching
from tests.fakes.google_wire import TOO_MANY_READS
from tests.vertex.service.submitting import Bench, bench


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


class TestAnswers(Answers):
    """See there."""


class TestInterrupts(Interrupts):
    """See there."""


class TestWaiting(Waiting):
    """See there."""

    def test_a_log_service_that_is_busy_at_the_end_is_no_verdict(self, tried: Bench):
        self.try_a_busy_log_at_the_end(tried, TOO_MANY_READS)


class TestDoubts(Doubts):
    """See there."""


class TestTheSameCommandAgain(TheSameCommandAgain):
    """See there."""


class TestRefusals(Refusals):
    """See there."""


class TestStudies(Studies):
    """See there."""


class TestSweeps(Sweeps):
    """See there."""


class TestFollowing(Following):
    """See there."""


class TestWatching(Watching):
    """See there."""


class TestNotices(Notices):
    """See there."""
