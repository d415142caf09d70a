"""What a secret's reference may be; what was given instead is never shown."""

from __future__ import annotations

import pytest

from launchers.core.rules.secrets import HERE, problems_in_secrets, with_whole_paths

ARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:wandb-AbCdEf"
VERSION = "projects/team/secrets/wandb/versions/latest"


@pytest.mark.parametrize(
    ("form", "reference"),
    [
        ("aws", ARN),
        ("aws", "arn:aws-cn:ssm:cn-north-1:123456789012:parameter/wandb"),
        ("google", VERSION),
        ("google", "projects/12/secrets/a-b_c/versions/3"),
        (HERE, "env:WANDB_API_KEY"),
        (HERE, "file:~/key with blanks"),
    ],
)
def test_a_reference_of_the_right_form_passes(form, reference):
    assert problems_in_secrets({"KEY": reference}, form, environment={}) == []


@pytest.mark.parametrize(
    ("form", "reference"),
    [
        ("aws", VERSION),
        ("aws", ARN.replace(":secret:", ":key:")),
        ("google", ARN),
        ("google", VERSION + "/more"),
        (HERE, "env:not a name"),
        (HERE, ARN),
        ("aws", ""),
    ],
)
def test_any_other_is_refused_without_being_shown(form, reference):
    (problem,) = problems_in_secrets({"KEY": reference}, form, environment={})
    assert (problem.rule, problem.path) == ("secret-reference", "--secret KEY")
    assert f"*** {len(reference)} characters" in problem.found
    assert not reference or reference not in str(problem)


def test_what_this_machine_alone_can_resolve_says_so_in_a_cloud():
    (problem,) = problems_in_secrets({"KEY": "env:MINE"}, "aws", environment={})
    assert "are this machine's" in problem.fix


def test_several_forms_are_all_named():
    (problem,) = problems_in_secrets({"KEY": "plain"}, "aws", HERE, environment={})
    assert "ARN" in problem.expected
    assert ", or env:NAME or file:PATH" in problem.expected


def test_a_name_that_env_sets_and_one_that_is_ours_are_told_together():
    secrets = {"TOKEN": ARN, "LAUNCH_JOB": ARN}
    problems = problems_in_secrets(secrets, "aws", environment={"TOKEN": "x"})
    assert [one.path for one in problems] == ["--secret TOKEN", "--secret LAUNCH_JOB"]
    assert problems[0].rule == "secret-twice"


def test_paths_are_made_whole_since_ranks_run_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    given = {"A": "file:key", "B": "file:~/key", "C": "env:X", "D": ARN}
    assert with_whole_paths(given) == {
        "A": f"file:{tmp_path}/key",
        "B": "file:/home/me/key",
        "C": "env:X",
        "D": ARN,
    }
