"""Every problem of a check has the line and column at which it stands."""

from __future__ import annotations

from tests.cli.checking.conftest import ALONE, Here, broken, job

POOLS = """\
displayName: four
jobSpec:
  workerPoolSpecs:
    - machineSpec: {machineType: n1-standard-16,
                    acceleratorType: NVIDIA_TESLA_T40, acceleratorCount: 4}
      replicaCount: 1
      containerSpec:
        imageUri: us-docker.pkg.dev/p/r/hvd:1
        command: [horovodrun, -np, "4", python, train.py]
"""


def test_a_problem_in_json_stands_at_its_key(here: Here) -> None:
    here.write("job.json", broken())
    (error,) = [one for one in here("job.json", "--json").json["problems"] if one["path"] == ALONE]
    lines = (here.folder / "job.json").read_text().splitlines()
    line = lines[error["line"] - 1]
    assert line[error["column"] - 1 :].startswith('"sagemaker_mpi_enabled"')
    assert f"error: job.json:{error['line']}:{error['column']}: {ALONE}: " in here("job.json").err


def test_a_problem_in_yaml_stands_at_its_key(here: Here) -> None:
    here.write("job.yaml", POOLS)
    errors = [
        one for one in here("job.yaml", "--json").json["problems"] if one["severity"] == "error"
    ]
    assert [(one["rule"], one["line"], one["column"]) for one in errors] == [("model-enum", 5, 21)]


def test_a_problem_of_what_is_missing_stands_at_what_it_is_missing_in(here: Here) -> None:
    document = job()
    del document["HyperParameters"]["sagemaker_mpi_enabled"]
    here.write("job.json", document)
    (error,) = [one for one in here("job.json", "--json").json["problems"] if one["path"] == ALONE]
    line = (here.folder / "job.json").read_text().splitlines()[error["line"] - 1]
    assert line.strip() == '"HyperParameters": {'


def test_a_file_that_cannot_be_parsed_has_the_line_of_its_fault(here: Here) -> None:
    here.write("job.json", '{"A": 1,\n "B": }\n')
    (problem,) = here("job.json", "--json").json["problems"]
    assert (problem["rule"], problem["line"]) == ("file-json", 2)


def test_a_key_that_stands_twice_has_both_its_lines(here: Here) -> None:
    here.write("job.json", '{"A": 1,\n "B": 2,\n "A": 3}\n')
    (problem,) = here("job.json", "--json").json["problems"]
    assert (problem["rule"], problem["line"]) == ("file-key-twice", 3)
    assert "job.json:3: A: the same key twice, first on line 1" in here("job.json").err


def test_every_document_of_a_yaml_stream_is_checked_with_its_own_lines(here: Here) -> None:
    here.write("jobs.yaml", f"{POOLS}---\n{POOLS}")
    answer = here("jobs.yaml", "--json")
    places = [
        (part["place"], [one["line"] for one in part["problems"] if one["severity"] == "error"])
        for part in answer.json["documents"]
    ]
    assert (answer.code, places) == (2, [("$[0]", [5]), ("$[1]", [5 + POOLS.count("\n") + 1])])
