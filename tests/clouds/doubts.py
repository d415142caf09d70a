"""What is not known to be sent stays an intent: nothing is paid for twice, and nothing unknown."""

from __future__ import annotations

import subprocess
import threading
from dataclasses import replace

from launchers.core.records.entry import INTENT
from launchers.core.records.ledger import Ledger
from tests.fakes.faults import HANDLED, RESET, Call, Delay, Drop
from tests.submitting import AnyBench


def begun(tried: AnyBench) -> None:
    """A job that the service has, while the ledger knows only that it may have been sent."""
    processes: list[subprocess.Popen[str]] = []
    kill = Call(lambda _: processes[0].kill())
    tried.service.faults.add(kill, tried.CREATE, point=HANDLED, times=1)
    processes.append(tried.launch.start(*tried.words(), **tried.environment()))
    processes[0].communicate(timeout=60)
    (entry,) = Ledger(tried.launch.home).jobs()
    assert entry.state == INTENT
    assert len(tried.jobs) == 1


def only_one(tried: AnyBench) -> None:
    """The service has one job, and the ledger the same one."""
    (job,) = tried.jobs
    (entry,) = Ledger(tried.launch.home).jobs()
    assert entry.name == job.name
    assert tried.is_known_as(job, entry)


class Doubts:
    """Whatever is lost on the way, there is one job, and it is known."""

    def test_a_caller_who_may_not_ask_for_the_job_does_not_make_a_second_one(self, tried: AnyBench):
        tried.service.faults.add(Drop(RESET), tried.CREATE, point=HANDLED, times=1)
        allow = tried.deny_finding()
        assert tried.submit("--detach").code == 5
        (entry,) = Ledger(tried.launch.home).jobs()
        assert entry.state == INTENT
        assert tried.submit("--detach").code == 5
        assert len(tried.jobs) == 1
        allow()
        assert tried.submit().code == 0
        only_one(tried)

    def test_a_bucket_that_refuses_the_second_attempt_does_not_end_the_first(self, tried: AnyBench):
        begun(tried)
        tried.service.objects.buckets[tried.service.bucket].objects.clear()
        allow = tried.deny_storing()
        assert tried.submit().code == 5
        allow()
        assert tried.submit().code == 0
        only_one(tried)

    def test_another_identity_in_the_second_attempt_finds_the_job_of_the_first(
        self, tried: AnyBench
    ):
        begun(tried)
        answer = tried.ask(*tried.words_of_another_identity())
        assert answer.code == 0, answer.err
        only_one(tried)

    def test_the_same_command_three_times_at_once_is_one_job(self, tried: AnyBench):
        tried.hold()
        tried.service.faults.add(Delay(0.5), tried.CREATE)
        tried.service.faults.add(Delay(0.5), tried.CREATE, point=HANDLED)
        codes: list[int] = []
        threads = [
            threading.Thread(target=lambda: codes.append(tried.submit("--detach").code))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        only_one(tried)
        assert codes == [0, 0, 0]

    def test_a_job_that_is_older_than_the_intent_is_somebody_elses(self, tried: AnyBench):
        tried.hold()
        begun(tried)
        (job,) = tried.jobs
        ledger = Ledger(tried.launch.home)
        (entry,) = ledger.jobs()
        ledger.forget(entry)
        ledger.add(replace(entry, created=entry.created + 3600))
        assert tried.ask("status", job.name).out.startswith(INTENT)
        assert "nothing to stop" in tried.ask("cancel", job.name).err
        assert not tried.service.received(tried.CANCEL)

    def test_a_sweeps_job_that_may_have_been_sent_is_not_called_unsent(self, tried: AnyBench):
        tried.service.faults.add(Drop(RESET), tried.CREATE, point=HANDLED, times=1)
        tried.deny_finding()
        answer = tried.sweep("sweep: {jobs: [{args.seed: 0}]}\n")
        assert answer.code == 1
        assert "in doubt" in answer.out
        assert "not started" not in answer.out
