"""Which files `launch check` takes, and what it exits with."""

from __future__ import annotations

import json

import pytest

from launchers.cli.checking import document as checked
from launchers.cli.main import run
from launchers.core.model.jobs import Examined
from launchers.core.wrappings.spec import Spec
from tests.cli.checking.conftest import ALONE, Here, broken, job, unknown


def test_several_files_are_checked_and_one_error_makes_it_2(here: Here) -> None:
    here.write("good.json", job())
    assert here("good.json").code == 0
    answer = here("good.json", here.write("bad.json", broken()), "--json")
    assert answer.code == 2
    assert [(one["file"], one["ok"]) for one in answer.json["documents"]] == [
        ("good.json", True),
        ("bad.json", False),
    ]
    assert answer.json["counts"]["errors"] == 1


def test_a_pattern_is_every_file_below_and_each_once(here: Here) -> None:
    for name in ("jobs/a.json", "jobs/deep/er/b.json", "other/c.json"):
        here.write(name, job())
    answer = here("jobs/**/*.json", "jobs/a.json", "./jobs/a.json", "--json")
    assert [one["file"] for one in answer.json["documents"]] == [
        "jobs/a.json",
        "jobs/deep/er/b.json",
    ]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(here: Here) -> None:
    answer = here(here.write("job[1].json", job()), "--json")
    assert (answer.code, answer.json["file"]) == (0, "job[1].json")


@pytest.mark.parametrize(
    ("word", "rule"),
    [
        ("nothing/*.json", "check-no-file"),
        ("folder", "check-folder"),
        ("missing.json", "file-unreadable"),
        ("broken.json", "file-json"),
        ("other.yaml", "file-shape"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_and_hides_no_other(
    here: Here, word: str, rule: str
) -> None:
    (here.folder / "folder").mkdir()
    here.write("broken.json", '{"A": 1,\n')
    here.write("other.yaml", "steps: [build]\n")
    here.write("bad.json", broken())
    for words in ((word, "bad.json"), ("bad.json", word)):
        answer = here(*words, "--json")
        rules = {one["file"]: one["problems"][0]["rule"] for one in answer.json["documents"]}
        assert (answer.code, rules) == (2, {word: rule, "bad.json": "world-size"})


@pytest.fixture
def defective(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that fail at the file defect.json."""
    really = checked.examine

    def examine(spec: Spec, world_size: int | None = None) -> Examined:
        if spec.document["TrainingJobName"] == "defect":
            raise KeyError("two\nlines")
        return really(spec, world_size)

    monkeypatch.setattr(checked, "examine", examine)


def test_a_defect_of_ours_is_told_of_its_file_and_hides_no_other(
    here: Here, defective: None
) -> None:
    here.write("defect.json", {**job(), "TrainingJobName": "defect"})
    here.write("bad.json", broken())
    here.write("good.json", job())
    answer = here("bad.json", "defect.json", "good.json", "--json")
    told = [(one["file"], one["ok"]) for one in answer.json["documents"]]
    assert (answer.code, told) == (
        1,
        [("bad.json", False), ("defect.json", False), ("good.json", True)],
    )
    (problem,) = answer.json["documents"][1]["problems"]
    assert (problem["rule"], problem["found"]) == ("internal-error", "KeyError: 'two\\nlines'")
    text = here("defect.json", "good.json").err
    assert "error: defect.json: launch: KeyError" in text
    assert "`launch --debug ...` shows where" in text
    assert "Traceback" not in text


def test_a_defect_of_ours_shows_its_traceback_when_asked(
    here: Here, defective: None, capsys: pytest.CaptureFixture[str]
) -> None:
    here.write("defect.json", {**job(), "TrainingJobName": "defect"})
    assert run(["--debug", "check", "defect.json"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_folder_is_refused_with_the_line_that_checks_it(here: Here) -> None:
    (here.folder / "jobs").mkdir()
    assert "launch check 'jobs/**/*.json' 'jobs/**/*.yaml'" in here("jobs").err


def test_standard_input_is_checked_with_lines(here: Here) -> None:
    answer = here("-", "--json", stdin=json.dumps(broken(), indent=1))
    (problem,) = [one for one in answer.json["problems"] if one["severity"] == "error"]
    assert (answer.code, answer.json["file"], problem["path"]) == (2, "-", ALONE)
    assert problem["line"] > 1


def test_what_cannot_be_told_fails_a_strict_check_alone(here: Here) -> None:
    here.write("job.json", unknown())
    lax = here("job.json", "--json")
    assert (lax.code, lax.json["world_size"], lax.json["ok"]) == (0, None, True)
    strict = here("job.json", "--strict", "--json")
    assert (strict.code, strict.json["ok"]) == (2, False)
    unknowns = [one for one in strict.json["problems"] if one["severity"] == "unknown"]
    assert [one["rule"] for one in unknowns] == ["world-size-unknown"]
    assert "unknown: job.json:1:1: $: " in here("job.json", "--strict").err


def test_a_warning_does_not_fail_a_strict_check(here: Here) -> None:
    here.write("job.json", job())
    here.write(".launch-check.yaml", "ignore: [{rule: world-size, file: job.json, reason: none}]")
    answer = here("job.json", "--strict", "--json")
    assert (answer.code, answer.json["counts"]["warnings"] > 0) == (0, True)


def test_one_document_has_its_keys_at_the_top(here: Here) -> None:
    answer = here(here.write("job.json", job()), "--json").json
    (document,) = answer["documents"]
    assert {name: answer[name] for name in document} == document
    assert {"file", "provider", "world_size", "because", "ok", "problems"} <= set(answer)


def test_the_report_can_go_to_a_file_while_the_text_is_shown(here: Here) -> None:
    here.write("job.json", broken())
    answer = here("job.json", "--report", "sarif", "--output", "out.sarif")
    assert (answer.code, answer.out, ALONE in answer.err) == (2, "", True)
    assert json.loads((here.folder / "out.sarif").read_text())["version"] == "2.1.0"
    plain = here("job.json", "-o", "out.txt")
    assert (here.folder / "out.txt").read_text() == plain.err
    assert "[folder-unwritable]" in here("job.json", "-o", "no/such/out.txt").err


def test_two_forms_at_once_are_refused(here: Here) -> None:
    here.write("job.json", job())
    assert here("job.json", "--json", "--report", "sarif").code == 2
    assert here("job.json", "--json", "--report", "json").code == 0
    assert here().code == 2
