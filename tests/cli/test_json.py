"""``--json``: one JSON value on stdout, whatever happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from launchers.cli import main
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from launchers.core.sdk import gate
from tests.cli import answers


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path) -> Any:
    """Runs a command line in this process, and gives its exit code, its answer and stderr."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path / "home"))

    def run_it(*words: str) -> tuple[int, Any, str]:
        code = main.ended(list(words))
        out, err = capsys.readouterr()
        answers.check(words, code, out)
        return code, json.loads(out), err

    return run_it


def rules(answer: Any) -> list[str]:
    return [problem["rule"] for problem in answer["error"]["problems"]]


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("list", "--json", "--nope"), "flag-unknown"),
        (("--json",), "usage"),
        (("--json", "list", "--nope"), "flag-unknown"),
        (("schema", "nope", "--json"), "schema-unknown"),
        (("nope", "--json"), "verb-unknown"),
        (("list", "--json", "--limit", "x"), "flag-value"),
        (("status", "--json"), "usage"),
        (("list", "--json", "--state", "runing"), "flag-value"),
        (("list", "--json=true"), "usage"),
        (("status", "nosuch", "--json", "--json"), "job-unknown"),
        (("check", "--report", "json"), "usage"),
        (("check", "--report=json", "a.json", "--nope"), "flag-unknown"),
        (("explain", "nope", "--json"), "rule-unknown"),
        (("sagemaker", "--json", "--dry-run", "--gpus", "many"), "flag-value"),
        (("sagemaker", "nosuch.py", "--json", "--dry-run", "--gpus", "1"), "script-missing"),
    ],
)
def test_a_command_line_that_is_wrong_is_answered_with_its_rule(
    run: Any, words: tuple[str, ...], rule: str
):
    code, answer, err = run(*words)

    assert (code, answer["error"]["exit_code"]) == (2, 2)
    assert rule in rules(answer)
    assert f"[{rule}]" in err


def test_a_bug_of_ours_is_an_answer_without_a_traceback(run: Any, monkeypatch: Any):
    def fails(*_: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("launchers.cli.verbs.list.Ledger", fails)

    code, answer, err = run("list", "--json")

    assert (code, rules(answer)) == (1, ["internal-error"])
    assert "Traceback" not in err
    assert "Traceback" in run("--debug", "list", "--json")[2]


def test_a_command_that_is_interrupted_answers_so(run: Any, monkeypatch: Any):
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("launchers.cli.verbs.wait.found_job", interrupted)

    code, answer, _ = run("wait", "train", "--json")

    assert (code, answer["error"]["exit_code"]) == (130, 130)
    assert rules(answer) == ["interrupted"]


@pytest.mark.parametrize("words", [("list", "--nope"), ("list", "--json=false"), ("list", "--")])
def test_without_json_stdout_has_no_answer_to_a_mistake(
    run: Any, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
):
    main.ended([*words, "--json"] if words[-1] == "--" else list(words))

    assert not capsys.readouterr().out.startswith("{")


SAGEMAKER = ("sagemaker", "train.py", "--instances", "2", "--gpus", "4", "--json")


@pytest.fixture
def script(run: Any) -> Path:
    """A script in the working folder."""
    path = Path("train.py")
    path.write_text("import horovod.tensorflow as hvd\nhvd.init()\n")
    return path


@pytest.mark.usefixtures("script")
def test_a_dry_run_gives_plan_and_document_as_one_value(run: Any):
    code, answer, err = run(*SAGEMAKER, "--dry-run")

    assert code == 0, err
    plan = answer["plan"]
    assert (plan["world_size"], plan["instances"], plan["processes"]) == (8, 2, 4)
    assert plan["name"] == answer["document"]["TrainingJobName"]
    assert "PLACEHOLDER" in answer["document"]["RoleArn"]
    assert any("--role" in one["fill"] for one in plan["placeholders"])
    shown = err.splitlines()
    assert all(any(row["text"] in line for line in shown) for row in plan["rows"])
    assert plan["bundle"]["files"] > 1


@pytest.mark.usefixtures("script")
def test_a_sweeps_dry_run_is_a_list_of_the_same(run: Any):
    sweep = "gpus: 4\nsweep:\n  matrix:\n    args.lr: [1, 2]\n"
    Path("launch.yaml").write_text(sweep)

    code, jobs, _ = run("sagemaker", "train.py", "--dry-run", "--json")

    assert code == 0
    assert len({one["plan"]["name"] for one in jobs}) == 2
    assert all(one["document"]["TrainingJobName"] == one["plan"]["name"] for one in jobs)


@pytest.mark.usefixtures("script")
def test_a_request_that_breaks_rules_is_answered_with_all_of_them(run: Any):
    code, answer, _ = run(*SAGEMAKER, "--dry-run", "--env", "LAUNCH_RANK=1", "--max-wait", "1h")

    assert code == 2
    assert len(set(rules(answer))) >= 2


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize("flags", [("--env", "A={}"), ("--gpus", "{}"), ("--nope={}",)])
def test_no_credential_of_a_command_line_is_in_the_answer(run: Any, flags: tuple[str, ...]):
    key = "AKIA" + "QWERTYUIOPASDFGH"

    code, answer, err = run(*SAGEMAKER, "--dry-run", *(flag.format(key) for flag in flags))

    assert code == 2
    assert key not in json.dumps(answer) + err


@pytest.mark.usefixtures("script")
def test_one_form_at_a_time(run: Any):
    assert rules(run(*SAGEMAKER, "--dry-run", "--format", "yaml")[1]) == ["flag-form"]


def test_a_dry_run_whose_file_is_bad_is_answered_with_its_rule_and_place(run: Any):
    Path("launch.yaml").write_text("instances: two\n")

    code, answer, _ = run("sagemaker", "--dry-run", "--json")

    assert code == 2
    assert "launch.yaml" in answer["error"]["problems"][0]["path"]


@pytest.mark.parametrize(
    "words",
    [
        ("list", "--json"),
        ("--json", "list"),
        ("list", "--json", "--json"),
        ("machines", "--json"),
        ("machines", "--provider", "vertex", "--json"),
        ("machines", "--gpus", "3", "--json"),
        ("explain", "--json"),
        ("explain", "interrupted", "--json"),
        ("init", "--json"),
        ("--version", "--json"),
        ("schema", "--json"),
    ],
)
def test_what_is_asked_for_is_one_value(run: Any, words: tuple[str, ...]):
    assert run(*words)[0] == 0


def test_the_files_that_cannot_be_read_are_in_the_answer_of_a_check(run: Any):
    Path("a.json").write_text("{}")

    code, answer, _ = run("check", "a.json", "b.json", "--json")

    assert code == 2
    assert [one["file"] for one in answer["documents"]] == ["a.json", "b.json"]
    assert all(one["problems"][0]["rule"] for one in answer["documents"])


def test_a_check_with_a_report_file_answers_as_well(run: Any):
    Path("a.json").write_text("{}")

    code, answer, err = run("check", "a.json", "--json", "-o", "report.json")

    assert json.loads(Path("report.json").read_text()) == answer
    assert code == 2
    assert "a.json" in err


def test_a_job_in_the_ledger_has_its_times_in_utc(run: Any):
    entry = Entry("a", "local", "a", 1, 2, "", state="pending", created=1764547200.25)
    Ledger().add(entry)
    Ledger().update(entry, state="failed", ended=1764547201.0)

    (listed,) = run("list", "--json")[1]
    status = run("status", "a", "--json")[1]

    for answer in (listed, status):
        assert answer["created"] == "2025-12-01T00:00:00.250Z"
        assert answer["ended"] == "2025-12-01T00:00:01.000Z"
    assert run("wait", "a", "--json")[0] == 1
    assert run("cancel", "a", "--json")[1]["state"] == "failed"


@pytest.mark.usefixtures("script")
def test_an_sdk_that_does_not_serve_is_the_gates_error(run: Any, monkeypatch: Any):
    monkeypatch.setattr(gate, "installed_version", lambda name: "0.1")

    code, answer, _ = run(*SAGEMAKER)

    assert (code, answer["error"]["exit_code"]) == (3, 3)
    assert set(rules(answer)) == {"sdk-version"}


def test_an_engine_that_is_not_there_is_an_error(run: Any, monkeypatch: Any):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")

    code, answer, _ = run("rehearsals", "--json")

    assert (code, answer["error"]["exit_code"]) == (4, 4)


def test_lines_end_with_the_error_on_a_line_of_its_own(run: Any, capsys: Any):
    assert main.ended(["logs", "nosuch", "--json"]) == 2
    (line,) = capsys.readouterr().out.splitlines()
    assert rules(json.loads(line)) == ["job-unknown"]
