"""`launch check` and `launch rehearse` on documents of other tools: several jobs, open values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launchers.cli.main import run
from launchers.core.model.problems import LaunchError
from launchers.core.reading.places import places_of
from launchers.core.reading.text_file import parse_all
from tests.places import ROOT

WRAPPED = ROOT / "tests" / "corpus" / "wrapped"


def refused(*words: str) -> str:
    with pytest.raises(LaunchError) as caught:
        run(list(words))
    [problem] = caught.value.problems
    return str(problem)


def test_a_rehearsal_of_a_file_with_several_jobs_asks_which():
    told = refused("rehearse", str(WRAPPED / "list_of_two.json"))
    assert "2 jobs; expected one job [job-place]" in told
    assert "--job '$[0]' takes the first of $[0], $[1]" in told


def test_a_rehearsal_names_the_value_that_keeps_its_size_open():
    told = refused("rehearse", str(WRAPPED / "state_machine_open_size.json"), "--world-size", "8")
    assert '$.States.Train.Parameters.ResourceConfig["InstanceCount.$"] is $.hosts' in told


def test_a_rehearsal_takes_one_of_several_and_tells_its_problems(
    capsys: pytest.CaptureFixture[str],
):
    file = str(WRAPPED / "state_machine_two.yaml")
    place = '$.States["Train again"]'
    assert run(["rehearse", file, "--job", place]) == 2
    told = capsys.readouterr().err
    assert f"{place}.Parameters.HyperParameters.sagemaker_mpi_enabled: no MPI" in told


def test_check_takes_one_of_several(capsys: pytest.CaptureFixture[str]):
    file = str(WRAPPED / "state_machine_two.yaml")
    assert run(["check", file, "--job", "$.States.Train", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["place"], answer["world_size"]) == ("$.States.Train.Parameters", 8)
    assert answer["kind"] == "the state Train"


def test_a_problem_in_a_stream_stands_at_its_line(capsys: pytest.CaptureFixture[str]):
    file = WRAPPED / "ack_stream.yaml"
    assert run(["check", str(file), "--json"]) == 2
    [problem] = json.loads(capsys.readouterr().out)["documents"][1]["problems"]
    lines = file.read_text("utf-8").splitlines()
    assert lines[problem["line"] - 1].strip() == "hyperParameters:"
    assert lines[: problem["line"]].count("---") == 2


def test_an_empty_document_in_a_stream_is_none(tmp_path: Path):
    text = "---\n---\na: 1\n---\n"
    assert len(parse_all(text, "x.yaml")) > 1
    assert places_of(text, "x.yaml")[("a",)] == (3, 1)
