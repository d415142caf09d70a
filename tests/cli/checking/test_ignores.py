"""The ignore file of `launch check`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.checking.conftest import Here, broken, job, unknown

ENTRY = """\
ignore:
  - rule: world-size
    file: "jobs/*.json"
    reason: two jobs on purpose, PLAT-12
"""


def entry(**values: str) -> str:
    keys = {"rule": "world-size", "file": "jobs/*.json", "reason": "two jobs", **values}
    lines = [f"    {key}: {value}" for key, value in keys.items() if value]
    return "ignore:\n  -\n" + "\n".join(lines) + "\n"


def rules(answer: Any, key: str = "problems") -> list[str]:
    return [one["rule"] for part in answer.json["documents"] for one in part[key]]


def test_an_entry_takes_a_problem_out_and_every_report_shows_it(here: Here) -> None:
    here.write("jobs/bad.json", broken())
    here.write(".launch-check.yaml", ENTRY)
    answer = here("jobs/bad.json", "--json")
    assert (answer.code, answer.json["ok"]) == (0, True)
    assert "world-size" not in rules(answer)
    (told,) = answer.json["suppressed"]
    assert (told["rule"], told["reason"]) == ("world-size", "two jobs on purpose, PLAT-12")
    assert answer.json["counts"]["suppressed"] == 1
    text = here("jobs/bad.json").err
    assert "suppressed: jobs/bad.json:" in text
    assert "1 suppressed" in text
    for form in ("sarif", "junit", "markdown"):
        assert "PLAT" in here("jobs/bad.json", "--report", form).out, form


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({}, 0),
        ({"rule": "start-guard"}, 2),
        ({"file": "'*.json'"}, 0),
        ({"file": "jobs/"}, 0),
        ({"file": "other/*.json"}, 2),
        ({"path": "$.HyperParameters"}, 0),
        ({"path": "$.HyperParameters.sagemaker_mpi_enabled"}, 0),
        ({"path": "$.*.sagemaker_mpi_enabled"}, 0),
        ({"path": "$.HyperParameters.sagemaker_mpi"}, 2),
        ({"path": "$.ResourceConfig"}, 2),
        ({"until": "2999-12-31"}, 0),
        ({"until": "2001-01-01"}, 2),
    ],
)
def test_an_entry_holds_for_its_rule_file_place_and_time(
    here: Here, values: dict[str, str], code: int
) -> None:
    here.write("jobs/bad.json", broken())
    here.write(".launch-check.yaml", entry(**values))
    assert here("jobs/bad.json").code == code


def test_an_entry_that_has_ended_is_told_and_its_problem_counts_again(here: Here) -> None:
    here.write("jobs/bad.json", broken())
    here.write(".launch-check.yaml", entry(until="2001-01-01"))
    answer = here("jobs/bad.json", "--json")
    assert {"world-size", "check-ignore-ended"} <= set(rules(answer))


def test_an_entry_that_matches_nothing_is_a_warning_with_its_line(here: Here) -> None:
    here.write("jobs/good.json", job())
    here.write(".launch-check.yaml", ENTRY)
    answer = here("jobs/good.json", "--json")
    part = answer.json["documents"][-1]
    (problem,) = part["problems"]
    assert (answer.code, part["file"]) == (0, ".launch-check.yaml")
    assert (problem["rule"], problem["severity"]) == ("check-ignore-unused", "warning")
    assert problem["line"] == 2


def test_a_pattern_that_fits_no_file_at_all_is_told(here: Here) -> None:
    here.write("jobs/good.json", job())
    here.write(".launch-check.yaml", entry(file="jbos/*.json"))
    assert "check-ignore-unused" in rules(here("jobs/good.json", "--json"))


def test_an_entry_for_a_file_that_is_not_checked_this_time_is_no_concern(here: Here) -> None:
    # A hook is given the changed files alone.
    here.write("jobs/bad.json", broken())
    here.write("good.json", job())
    here.write(".launch-check.yaml", ENTRY)
    assert "check-ignore-unused" not in rules(here("good.json", "--json"))


@pytest.mark.parametrize(
    ("text", "rule", "told"),
    [
        (entry(rule="world-sise"), "rule-unknown", "did you mean world-size?"),
        (entry(reason=""), "check-ignore-file", "reason"),
        (entry(file=""), "check-ignore-file", "file"),
        (entry(until="soon"), "check-ignore-file", "a date"),
        (entry(until="2027-02-30"), "check-ignore-file", "a date"),
        (entry(path="HyperParameters"), "check-ignore-file", "$.a.b[0]"),
        (entry(file='"!jobs/*.json"'), "check-ignore-file", "!"),
        (entry(resaon="x"), "check-ignore-file", "did you mean reason?"),
        ("ignore:\n  - world-size\n", "check-ignore-file", "no keys"),
        ("ignores: []\n", "check-ignore-file", "a list under ignore:"),
        ("ignore: {}\n", "check-ignore-file", "a list under ignore:"),
        ("ignore: [\n", "file-yaml", "valid YAML"),
    ],
)
def test_a_mistake_in_the_ignore_file_is_an_error_and_ignores_nothing(
    here: Here, text: str, rule: str, told: str
) -> None:
    here.write("jobs/bad.json", broken())
    here.write(".launch-check.yaml", text)
    answer = here("jobs/bad.json", "--json")
    assert answer.code == 2
    assert {rule, "world-size"} <= set(rules(answer))
    assert told in here("jobs/bad.json").err


def test_the_file_of_the_repository_holds_in_every_folder_of_it(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.write("jobs/bad.json", broken())
    here.write(".launch-check.yaml", ENTRY)
    monkeypatch.chdir(here.folder / "jobs")
    assert here("bad.json").code == 0


def test_another_ignore_file_can_be_named_and_must_be_there(here: Here) -> None:
    here.write("jobs/bad.json", broken())
    here.write("policy.yaml", ENTRY)
    assert here("jobs/bad.json").code == 2
    assert here("jobs/bad.json", "--ignore-file", "policy.yaml").code == 0
    assert "[file-unreadable]" in here("jobs/bad.json", "--ignore-file", "none.yaml").err


def test_what_cannot_be_told_can_be_accepted(here: Here) -> None:
    here.write("jobs/own.json", unknown())
    assert here("jobs/own.json", "--strict").code == 2
    here.write(".launch-check.yaml", entry(rule="world-size-unknown"))
    assert here("jobs/own.json", "--strict").code == 0
