"""Following a job to its end, and the verdict."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from launchers.core.records.ledger import Ledger
from tests.fakes.faults import Call
from tests.submitting import AnyBench

PROOF = "launch: proof: world size 8: 2 hosts x 4 ranks, MPI"


class Following:
    """Only what is proven has succeeded."""

    @pytest.fixture
    def running(self, tried: AnyBench) -> AnyBench:
        """A job in its training that nothing ends."""
        tried.hold()
        assert tried.submit("--detach").code == 0
        (job,) = tried.jobs
        tried.run(job.name)
        return tried

    @pytest.fixture
    def full_disk(self, running: AnyBench, tmp_path: Path) -> Iterator[str]:
        """The data folder on a disk without room; needs root, as CI is."""
        disk = tmp_path / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True)
        shutil.copy(running.launch.home / "ledger.db", disk)
        with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while True:
                filler.write(b"\0" * 4096)
        yield str(disk)
        subprocess.run(["umount", str(disk)], check=True)

    def failure(self, tried: AnyBench) -> str:
        """What rank 5 says."""
        told = {"rank": 5, "host": tried.SECOND_HOST, "reason": "KeyError"}
        return f"launch: failure: {json.dumps(told)}"

    def test_a_success_without_a_proof_is_not_proven(self, tried: AnyBench):
        tried.print_lines({0: ["epoch 1"]})
        answer = tried.submit()
        assert answer.code == 1
        assert "not proven" in answer.err
        assert "world size 8" in answer.err

    def test_a_proof_of_another_world_size_is_none(self, tried: AnyBench):
        tried.print_lines({0: ["launch: proof: world size 4: 1 host x 4 ranks, MPI"]})
        answer = tried.submit()
        assert answer.code == 1
        assert "proved another job" in answer.err

    def test_a_job_that_succeeded_after_a_rank_failed_has_failed(self, tried: AnyBench):
        tried.print_lines({0: [PROOF], 5: [self.failure(tried)]})
        answer = tried.submit()
        assert answer.code == 1
        assert f"rank 5 on {tried.SECOND_HOST} failed first: KeyError" in answer.err
        assert f"says {tried.SUCCESS} all the same" in answer.err

    def test_logs_that_may_not_be_read_are_the_reason_for_not_proven(self, tried: AnyBench):
        allow = tried.deny_logs()
        answer = tried.submit()
        assert answer.code == 1
        assert "its logs cannot be read" in answer.err
        allow()
        # The proof is there, and counts as soon as it can be read.
        assert tried.ask("wait", "train").code == 0

    def test_a_failure_shows_the_first_rank_and_its_last_lines(self, tried: AnyBench):
        lines = {0: [PROOF], 5: ["the end of rank 5", self.failure(tried)]}
        tried.print_lines(lines, failed="why it ended")
        answer = tried.submit()
        assert answer.code == 1
        assert f"rank 5 on {tried.SECOND_HOST} failed first: KeyError" in answer.err
        assert "why it ended" in answer.err
        assert "the last lines of rank 5" in answer.err
        assert "the end of rank 5" in answer.err
        assert "--rank 5" in answer.err

    def test_of_many_tracebacks_one_is_shown_and_the_reason_is_told_once(self, tried: AnyBench):
        trace = ["Traceback (most recent call last):", '  File "train.py", line 3, in <module>']
        lost = "UnknownError: Horovod has been shut down. This was caused by an exception"
        lines = {
            0: [PROOF, *trace, lost],
            5: ["the end of rank 5", self.failure(tried), *trace, "KeyError"],
            7: [*trace, lost],
        }
        tried.print_lines(lines, failed="AlgorithmError: ExitCode 1, KeyError")
        answer = tried.submit()
        shown = answer.out + answer.err
        assert answer.code == 1
        assert shown.count("Traceback (most recent call last)") == 1
        assert shown.count("KeyError") == 2, "the traceback's last line, and the verdict"
        (job,) = tried.jobs
        waited = tried.ask("wait", job.name)
        assert (waited.code, waited.err.count("Traceback (most")) == (1, 1)
        assert f"launch logs {job.name} --rank 5" in waited.err
        read = tried.ask("logs", job.name).out
        assert read.count("Traceback (most recent call last)") == 1
        assert read.count("the job ends because of rank 5") == 1
        for text in (shown, waited.err, read):
            assert "launch: failure" not in text
            assert "shut down" not in text
        raw = tried.ask("logs", job.name, "--raw").out
        assert raw.count("Traceback (most recent call last)") == 3
        assert "launch: failure: {" in raw

    @pytest.mark.parametrize("cancels", [False, True])
    def test_an_interrupt_leaves_the_job_unless_it_was_asked_to_end_it(
        self, running: AnyBench, cancels: bool
    ):
        flags = ("--cancel-on-interrupt",) if cancels else ()
        process = running.launch.start(*running.words(*flags), **running.environment())
        assert process.stdout
        assert "proof" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        (job,) = running.jobs
        assert bool(running.service.received(running.CANCEL)) == cancels
        if not cancels:
            assert "keeps running" in err
            assert f"launch cancel {job.name}" in err
            assert not job.ended

    def test_list_does_not_wait_for_a_service_that_is_gone(self, running: AnyBench):
        running.service.faults.add(Call(lambda _: threading.Event().wait(8)), running.GET)
        answer = running.ask("list")
        assert answer.code == 0
        assert "no answer within 5 s" in answer.out

    def test_a_full_disk_keeps_nobody_from_ending_a_job_that_costs_money(
        self, running: AnyBench, full_disk: str
    ):
        (job,) = running.jobs
        status = running.ask("status", job.name, LAUNCH_HOME=full_disk)
        assert (status.code, status.out.split()[0]) == (0, "running"), status.err
        answer = running.ask("cancel", job.name, LAUNCH_HOME=full_disk)
        assert answer.code == 0, answer.err
        assert running.is_stopped(job)
        waited = running.ask("wait", job.name, LAUNCH_HOME=full_disk)
        assert waited.code == 1
        assert "stopped" in waited.err

    def test_a_job_that_the_service_does_not_know_is_not_called_ended(self, running: AnyBench):
        """With other credentials it may run and cost money: nobody may take it for stopped."""
        ledger = Ledger(running.launch.home)
        (entry,) = ledger.jobs()
        details = {key: value for key, value in entry.details.items() if key != "resource"}
        ledger.add(replace(entry, name="gone-aaaaaaaa-1", base="gone-aaaaaaaa", details=details))
        answer = running.ask("cancel", "gone")
        assert answer.code == 2
        assert "runs in another" in answer.err
        assert "had already ended" not in answer.err
        assert running.ask("wait", "gone").code == 1
