"""The reports that other programs read: SARIF, JUnit's XML, markdown."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from launchers.cli.reports import markdown
from launchers.core.catalogue import catalogues
from tests.cli.checking.conftest import ALONE, Here, broken, job, unknown

IGNORE = """\
ignore:
  - {rule: world-size, file: accepted.json, reason: "two jobs | on purpose"}
"""
HOSTILE = "@team #12 |`x` <b> [a](http://x.example) \x1b[31m\x00\ud800"


@pytest.fixture
def project(here: Here) -> Here:
    """An error in two files, one of which is accepted; a file without one, and no document."""
    here.write("jobs/bad job.json", broken())
    here.write("accepted.json", broken())
    here.write("good.json", job())
    here.write("own.json", unknown())
    here.write("none.json", "{")
    here.write(".launch-check.yaml", IGNORE)
    return here


FILES = ("jobs/bad job.json", "accepted.json", "good.json", "own.json", "none.json")


def sarif(here: Here, *words: str) -> dict[str, Any]:
    """The one run of a SARIF report, after the schema's own conditions."""
    log = here(*words, "--report", "sarif").json
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        for key in ("shortDescription", "fullDescription", "help"):
            assert rule[key]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note", "none")
    for artifact in run["artifacts"]:
        assert_uri(artifact["location"])
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note", "none")
        assert result["message"]["text"]
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        region = physical["region"]
        assert min(region["startLine"], region["startColumn"]) >= 1
        number = physical["artifactLocation"]["index"]
        assert run["artifacts"][number]["location"]["uri"] == physical["artifactLocation"]["uri"]
        for one in result.get("suppressions", []):
            assert one["kind"] in ("inSource", "external")
    return dict(run)


def assert_uri(location: dict[str, str]) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._~!$&'()*+,;=:@%/-]+", location["uri"]), location
    assert not location["uri"].startswith(("/", ".."))


def test_sarif_has_a_result_for_every_problem_with_its_place(project: Here) -> None:
    run = sarif(project, *FILES)
    every = [
        one for part in project(*FILES, "--json").json["documents"] for one in part["problems"]
    ]
    assert len(run["results"]) == len(every) + 1
    first = next(one for one in run["results"] if one["ruleId"] == "world-size")
    location = first["locations"][0]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "jobs/bad%20job.json"
    assert location["physicalLocation"]["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
    assert location["physicalLocation"]["region"]["startLine"] > 1
    assert location["logicalLocations"] == [{"fullyQualifiedName": ALONE}]
    assert first["level"] == "error"


def test_sarif_names_files_from_the_repository_whatever_folder_it_is_made_in(
    project: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.folder / "jobs")
    run = sarif(project, "bad job.json")
    assert run["artifacts"][0]["location"]["uri"] == "jobs/bad%20job.json"


def test_sarif_says_what_is_suppressed_and_why(project: Here) -> None:
    results = sarif(project, *FILES)["results"]
    (one,) = [one for one in results if "suppressions" in one]
    assert one["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "two jobs | on purpose"}
    ]


def test_sarif_explains_each_rule_as_the_catalogue_does(project: Here) -> None:
    rules = {one.id: one for room in catalogues() for one in room.own.values()}
    for rule in sarif(project, *FILES)["tool"]["driver"]["rules"]:
        assert rule["shortDescription"]["text"] == rules[rule["id"]].title
        assert rules[rule["id"]].why in rule["help"]["markdown"]


def test_what_cannot_be_told_is_a_note_and_an_error_under_strict(project: Here) -> None:
    for words, level in (((), "note"), (("--strict",), "error")):
        (result,) = sarif(project, "own.json", *words)["results"][-1:]
        assert (result["ruleId"], result["level"]) == ("world-size-unknown", level)


def test_a_fingerprint_stays_when_lines_move_and_differs_between_problems(here: Here) -> None:
    def fingerprints() -> list[str]:
        results = sarif(here, "job.json")["results"]
        return [one["partialFingerprints"]["primaryLocationLineHash"] for one in results]

    here.write("job.json", broken())
    first = fingerprints()
    here.write("job.json", "\n\n\n" + json.dumps(broken(), indent=4))
    assert fingerprints() == first
    assert len(set(first)) == len(first)


def test_junit_has_a_case_for_every_problem(project: Here) -> None:
    suites = project(*FILES, "--report", "junit").xml
    assert suites.tag == "testsuites"
    cases = suites.findall("testsuite/testcase")
    assert suites.get("tests") == str(len(cases))
    names = [(case.get("classname"), case.get("name")) for case in cases]
    assert len(set(names)) == len(names)
    failed = [case for case in cases if case.find("failure") is not None]
    assert suites.get("failures") == str(len(failed)) == "2"
    (bad,) = [case for case in failed if case.get("file") == "jobs/bad job.json"]
    failure = bad.find("failure")
    assert failure is not None
    assert (failure.get("type"), ALONE in str(failure.text)) == ("world-size", True)
    assert int(bad.get("line", "0")) > 1
    (skipped,) = [case for case in cases if case.find("skipped") is not None]
    assert [one.get("message") for one in skipped] == ["two jobs | on purpose"]
    for suite in suites:
        assert len(suite.findall("testcase")) == int(suite.get("tests", "0")) > 0


def test_junit_fails_what_a_strict_check_fails(project: Here) -> None:
    for words, failures in (((), "0"), (("--strict",), "1")):
        suites = project("own.json", *words, "--report", "junit").xml
        assert suites.get("failures") == failures


def test_markdown_has_tables_of_equal_width(project: Here) -> None:
    text = project(*FILES, "--report", "markdown").out
    assert text.startswith("### launch check: ")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table
    assert "Suppressed:" in text
    assert r"two jobs \| on purpose" in text


def test_nothing_in_a_document_is_a_mark_or_a_mention(here: Here) -> None:
    document = broken()
    document["HyperParameters"]["sagemaker_mpi_custom_mpi_options"] = HOSTILE
    document["TrainingJobName"] = HOSTILE
    document[HOSTILE] = 1
    here.write("job.json", document)
    text = here("job.json", "--report", "markdown").out
    words = re.sub(r"(`+).*?\1", "", text)
    assert not re.search(r"@\w|#\d|<b>|(?<!\\)\[a", words)
    assert "\x1b" not in text
    for suite in here("job.json", "--report", "junit").xml:
        assert suite.findall("testcase")
    for result in sarif(here, "job.json")["results"]:
        assert "](" not in result["message"]["text"]


def test_a_long_report_stays_below_the_limit_of_a_comment(here: Here) -> None:
    names = [here.write(f"jobs/{'x' * 60}-{number}.json", broken()) for number in range(150)]
    text = here(*names, "--report", "markdown").out
    assert len(text) < markdown.MOST_CHARACTERS + 1000
    assert re.search(r"\| and \d+ more \|", text)


def test_standard_input_has_a_place_in_every_report(here: Here) -> None:
    text = json.dumps(broken())
    for form in ("sarif", "junit", "markdown", "text"):
        assert here("-", "--report", form, stdin=text).code == 2
    log = here("-", "--report", "sarif", stdin=text).json
    assert log["runs"][0]["artifacts"] == [{"location": {"uri": "stdin"}}]


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "markdown"])
def test_no_report_shows_a_credential_that_stands_where_nobody_expects_one(here: Here, form: str):
    token = "ghp_" + "k7Qm2xR9vT4bZ1nW8cY5" + "dL0p3sF6hJ9q"
    here.write("job.json", job(sagemaker_mpi_enabled=token, **{token: "1"}))
    answer = here("job.json", "--report", form)
    assert "sagemaker_mpi_enabled" in answer.out + answer.err
    assert token not in answer.out + answer.err
    assert "(36 characters" in (answer.out + answer.err).replace("\\", "")


def test_the_name_of_a_step_is_no_way_out_for_a_credential(here: Here):
    token = "ghp_" + "k7Qm2xR9vT4bZ1nW8cY5" + "dL0p3sF6hJ9q"
    step = {"Name": token, "Type": "Training", "Arguments": job()}
    here.write("pipeline.json", {"Version": "2020-12-01", "Steps": [step]})
    answer = here("pipeline.json")
    assert "(the step ***" in answer.err
    assert token not in answer.out + answer.err
