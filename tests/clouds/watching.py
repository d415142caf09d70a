"""`launch status` of a job on a cloud: how far its training is, by its newest lines."""

from __future__ import annotations

import pytest

from tests.clouds.following import PROOF
from tests.fakes.faults import RESET, Drop
from tests.submitting import AnyBench

TOLD = [
    "epoch 0 has begun",
    *(f"progress: epoch 1/3, step {step}/22, 5,120 images/s, loss 0.5" for step in range(1, 22)),
    "progress: epoch 1/3, step 22/22, 5,200 images/s, loss 0.4123, validation loss 0.5012, 12.3 s",
    "progress: epoch 2/3, step 4/22, 5,210 images/s, loss nan",
    "what a monitor says",
]
ELSE = ["progress: epoch 3/3, step 22/22, 1 images/s, loss 9"]


class Watching:
    """The newest lines, few requests, and an answer where there are none."""

    @pytest.fixture
    def training(self, tried: AnyBench) -> AnyBench:
        """A job that has printed where it is, and that nothing ends."""
        tried.train({0: [PROOF, *TOLD], 5: ELSE})
        assert tried.submit("--detach").code == 0
        (job,) = tried.jobs
        tried.run(job.name)
        return tried

    def test_a_job_in_training_shows_how_far_it_is_by_a_few_requests(self, training: AnyBench):
        training.service.faults.add(Drop(RESET), training.READ_LINES, times=1)
        before = len(training.service.received(training.READ_LINES))
        answer = training.ask("status", "train")
        assert answer.code == 0, answer.err
        assert "epoch 2/3  step 4/22  5,210 images/s" in answer.out
        assert "loss nan  validation loss 0.5012" in answer.out
        assert 1 <= len(training.service.received(training.READ_LINES)) - before <= 4
        # A ledger that does not know the job.
        (job,) = training.jobs
        words = ("status", training.word_for(job), "--region", training.REGION, "--json")
        told = training.ask(*words, LAUNCH_HOME=str(training.launch.folder)).json["progress"]
        assert (told["epoch"], told["epochs"], told["step"], told["steps"]) == (2, 3, 4, 22)
        assert (told["rate"], told["unit"], told["of"]) == (5210, "images", "epoch")
        assert told["metrics"] == {"loss": "nan", "validation loss": 0.5012}
        assert told["at"]

    def test_lines_that_cannot_be_read_are_told_of_and_the_state_is_shown(self, training: AnyBench):
        training.deny_logs()
        answer = training.ask("status", "train")
        assert (answer.code, answer.out.split()[0]) == (0, "running"), answer.err
        assert "its newest lines could not be read" in answer.err
        told = training.ask("status", "train", "--json")
        assert told.code == 0
        assert told.json["state"] == "running"
        assert "progress" not in told.json
        assert told.json["progress_unreadable"]

    def test_the_last_progress_of_a_job_that_ended_is_kept(self, tried: AnyBench):
        tried.print_lines({0: [PROOF, *TOLD], 5: ELSE})
        assert tried.submit().code == 0
        asked = len(tried.service.received(tried.READ_LINES))
        tried.deny_logs()
        shown = tried.ask("status", "train")
        assert "epoch 2/3  step 4/22  5,210 images/s" in shown.out
        assert "left" not in shown.out
        told = tried.ask("status", "train", "--json").json["progress"]
        assert told["metrics"]["validation loss"] == 0.5012
        assert told["left_seconds"] is None
        assert len(tried.service.received(tried.READ_LINES)) == asked

    def test_what_could_not_be_followed_is_read_once_that_is_allowed(self, tried: AnyBench):
        tried.print_lines({0: [PROOF, *TOLD], 5: ELSE}, failed="why it ended")
        allow = tried.deny_logs()
        assert tried.submit().code == 1
        allow()
        assert "epoch 2/3" in tried.ask("status", "train").out

    def test_a_job_that_nobody_followed_is_read_once_at_its_end(self, tried: AnyBench):
        tried.print_lines({0: [PROOF, *TOLD], 5: ELSE})
        assert tried.submit("--detach").code == 0
        (job,) = tried.jobs
        tried.finish(job.name)
        assert tried.ask("wait", "train").code == 0
        assert "epoch 2/3" in tried.ask("status", "train").out
        asked = len(tried.service.received(tried.READ_LINES))
        assert tried.ask("status", "train", "--json").json["progress"]["epoch"] == 2
        assert len(tried.service.received(tried.READ_LINES)) == asked
