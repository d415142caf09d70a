"""Whoever is told of a job's end is told once, by the command that sees it."""

from __future__ import annotations

import signal

from tests.cli.notify.hook import hook
from tests.submitting import AnyBench


class Notices:
    """Told when the job ends, and at no other time."""

    def test_a_followed_job_is_told_once_and_waiting_for_it_again_tells_nobody(
        self, tried: AnyBench
    ):
        with hook() as there:
            answer = tried.submit("--notify", "webhook:HOOK", HOOK=there.address)
            assert answer.code == 0, answer.err
            (job,) = tried.jobs
            config = tried.launch.home / "config"
            config.mkdir()
            (config / "defaults.yaml").write_text("notify: webhook:HOOK\n")
            assert tried.ask("wait", there.got[0]["name"], HOOK=there.address).code == 0
            (notice,) = there.got
        assert (notice["state"], notice["world_size"]) == ("succeeded", 8)
        assert notice["proof"].startswith("world size 8")
        assert notice["name"] in answer.err
        assert all("T0KEN" not in str(document) for document in (job.document, answer.err))

    def test_a_command_that_is_interrupted_tells_nobody(self, tried: AnyBench):
        tried.hold()
        with hook() as there:
            words = tried.words("--notify", "webhook:HOOK")
            process = tried.launch.start(*words, **tried.environment(HOOK=there.address))
            assert process.stdout
            assert "proof" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            assert process.returncode == 130
            assert there.got == []

    def test_each_job_of_a_sweep_is_told_and_so_is_one_that_fails(self, tried: AnyBench):
        tried.fail("it broke", seed="1")
        text = "notify: webhook:HOOK\nsweep: {jobs: [{args.seed: 0}, {args.seed: 1}]}\n"
        with hook() as there:
            answer = tried.sweep(text, HOOK=there.address)
            told = sorted(notice["state"] for notice in there.got)
        assert answer.code == 1
        assert told == ["failed", "succeeded"]
