"""``--json`` about jobs that cost money. The fixture holds each answer against its schema."""

from __future__ import annotations

from tests.submitting import AnyBench

SWEEP = "sweep: {jobs: [{args.seed: 0}, {args.seed: 1}]}\n"


class Answers:
    """One JSON value each, whatever becomes of the job."""

    def test_a_job_that_is_followed_and_asked_for_is_the_same_object(self, tried: AnyBench):
        answer = tried.submit("--json")
        (job,) = tried.jobs
        assert (answer.code, answer.json["state"]) == (0, "succeeded")
        assert answer.json["name"] == job.name
        assert answer.json["created"] < answer.json["ended"]
        for words in (("status",), ("wait",), ("cancel",)):
            assert tried.ask(*words, job.name, "--json").json == answer.json
        again = tried.submit("--json")
        assert (again.code, again.json) == (0, answer.json)
        (listed,) = tried.ask("list", "--json").json
        assert {key: answer.json[key] for key in listed} == listed

    def test_a_job_that_fails_is_an_answer(self, tried: AnyBench):
        tried.print_lines({0: ["it begins"]}, failed="it broke")
        answer = tried.submit("--json")
        assert (answer.code, answer.json["state"]) == (1, "failed")
        assert "it broke" in answer.json["reason"]
        assert tried.ask("logs", "train", "--json").json["text"] == "it begins"

    def test_a_job_that_is_left_to_itself_is_told_where_it_stands(self, tried: AnyBench):
        tried.hold()
        answer = tried.submit("--json", "--detach")
        (job,) = tried.jobs
        assert (answer.code, answer.json["state"]) == (0, "running")
        assert answer.json["name"] == job.name
        ended = tried.ask("cancel", job.name, "--json")
        assert (ended.code, ended.json["state"]) == (0, "stopped")

    def test_a_sweep_is_a_list_of_jobs_with_the_problems_of_each(self, tried: AnyBench):
        tried.fail("it broke", seed="1")
        answer = tried.sweep(SWEEP, "--json")
        assert answer.code == 1
        assert [job["state"] for job in answer.json] == ["succeeded", "failed"]
        assert [job["arguments"] for job in answer.json] == [["--seed", "0"], ["--seed", "1"]]

    def test_a_sweep_whose_jobs_are_refused_says_why_by_their_rules(self, tried: AnyBench):
        tried.deny_storing()
        answer = tried.sweep(SWEEP, "--json", "--max-parallel", "1")
        assert answer.code == 1
        assert {job["state"] for job in answer.json} == {"not started"}
        assert all(job["problems"][0]["rule"] for job in answer.json)

    def test_what_preflight_and_the_provider_refuse_is_an_error_with_their_code(
        self, tried: AnyBench
    ):
        tried.deny_storing()
        refused = tried.submit("--json")
        assert (refused.code, refused.json["error"]["exit_code"]) == (refused.code, refused.code)
        assert refused.code in (4, 5)
        tried.expire()
        refused = tried.submit("--json")
        assert (refused.code, refused.json["error"]["exit_code"]) == (4, 4)
