"""The shape of a CustomJob: what the official client refuses is refused here, all at once."""

from __future__ import annotations

import argparse
import copy
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings

from infra.refresh import files, vertex_service_model
from launchers.core.model.problems import errors
from launchers.vertex.rules import service_model, spelling
from tests.vertex.rules.changed_documents import REQUEST, documents

with warnings.catch_warnings():
    # google.api_core tells of Python versions to come.
    warnings.simplefilter("ignore", FutureWarning)
    from google.cloud.aiplatform_v1.types import CustomJob
    from google.protobuf.json_format import MessageToDict, ParseError

Document = dict[str, Any]


def _refused_by_the_client(document: object) -> bool:
    try:
        CustomJob.from_json(json.dumps(document))
    except ParseError:
        return True
    return False


def test_the_shape_equals_that_of_the_installed_client():
    old = files.read_json(vertex_service_model.FILE)
    new = vertex_service_model.make(argparse.Namespace(), old)
    changes = [
        change
        for change in files.differences(old, new)
        if not change.startswith(("$.sources", "$.date"))
    ]
    assert not changes, "\n".join(changes) + (
        "\nthe installed google-cloud-aiplatform knows another CustomJob; refresh ours with: "
        "python -m infra.refresh.vertex_service_model"
    )


def test_the_file_names_its_source_and_its_day_and_is_laid_out_by_line():
    content = files.read_json(vertex_service_model.FILE)
    assert "google-cloud-aiplatform" in content["sources"]
    assert vertex_service_model.FILE.read_text() == files.laid_out(content)
    assert vertex_service_model.FILE.stat().st_size < 8000


def test_a_request_of_that_shape_has_no_problem():
    assert service_model.MODEL.check(REQUEST) == []
    assert not _refused_by_the_client(REQUEST)


def test_check_leaves_the_document_as_it_was():
    document = copy.deepcopy(REQUEST)
    service_model.MODEL.check({**document, "Surplus": 1})
    assert document == REQUEST


def put(path: str, value: Any) -> Callable[[Document], None]:
    """Sets what stands at ``a.b.0.c``."""

    def change(document: Document) -> None:
        *folders, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
        place: Any = document
        for folder in folders:
            place = place[folder]
        place[last] = value

    return change


def drop(path: str) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        *folders, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
        place: Any = document
        for folder in folders:
            place = place[folder]
        del place[last]

    return change


POOL = "jobSpec.workerPoolSpecs.0"
AT_POOL = "$.jobSpec.workerPoolSpecs[0]"
# name, what is done to the request, path, rule, what its text must hold
MISTAKES: list[tuple[str, Callable[[Document], None], str, str, str]] = [
    (
        "misspelt key",
        put("jobSpec.scheduling.timeOut", "1s"),
        "$.jobSpec.scheduling.timeOut",
        "model-key",
        "did you mean timeout?",
    ),
    (
        "the Python client's spelling",
        put("jobSpec.service_account", "x"),
        "$.jobSpec.service_account",
        "model-key",
        "did you mean serviceAccount?",
    ),
    (
        "the Python client's spelling of a required key",
        lambda d: d.update(display_name=d.pop("displayName")),
        "$.display_name",
        "model-key",
        "did you mean displayName?",
    ),
    (
        "one level too high",
        put("serviceAccount", "x"),
        "$.serviceAccount",
        "model-key",
        "it belongs at $.jobSpec.serviceAccount",
    ),
    (
        "one level too low",
        put("jobSpec.labels", {}),
        "$.jobSpec.labels",
        "model-key",
        "it belongs at $.labels",
    ),
    (
        "an image beside its container",
        put(f"{POOL}.imageUri", "x"),
        f"{AT_POOL}.imageUri",
        "model-key",
        "it belongs at $.jobSpec.workerPoolSpecs[0].containerSpec.imageUri",
    ),
    (
        "an accelerator beside its machine",
        put(f"{POOL}.acceleratorType", "NVIDIA_L4"),
        f"{AT_POOL}.acceleratorType",
        "model-key",
        "it belongs at $.jobSpec.workerPoolSpecs[0].machineSpec.acceleratorType",
    ),
    ("no name", drop("displayName"), "$.displayName", "model-missing", "missing"),
    ("an empty name", put("displayName", ""), "$.displayName", "model-missing", "empty"),
    ("no pools", put("jobSpec.workerPoolSpecs", []), "$.jobSpec.workerPoolSpecs", "", "empty"),
    (
        "no image",
        drop(f"{POOL}.containerSpec.imageUri"),
        f"{AT_POOL}.containerSpec.imageUri",
        "model-missing",
        "expected text",
    ),
    (
        "a variable without a name",
        drop(f"{POOL}.containerSpec.env.0.name"),
        f"{AT_POOL}.containerSpec.env[0].name",
        "model-missing",
        "missing",
    ),
    (
        "an accelerator to be filled in",
        put(f"{POOL}.machineSpec.acceleratorType", "${ACCELERATOR_TYPE}"),
        f"{AT_POOL}.machineSpec.acceleratorType",
        "model-enum",
        "it is a placeholder: fill it in",
    ),
    (
        "a number to be filled in",
        put(f"{POOL}.replicaCount", "${REPLICAS}"),
        f"{AT_POOL}.replicaCount",
        "model-type",
        "it is a placeholder: fill it in",
    ),
    (
        "an accelerator with dashes",
        put(f"{POOL}.machineSpec.acceleratorType", "nvidia-tesla-t4"),
        f"{AT_POOL}.machineSpec.acceleratorType",
        "model-enum",
        "did you mean NVIDIA_TESLA_T4?",
    ),
    (
        "an accelerator without its maker",
        put(f"{POOL}.machineSpec.acceleratorType", "H100_80GB"),
        f"{AT_POOL}.machineSpec.acceleratorType",
        "model-enum",
        "did you mean NVIDIA_H100_80GB?",
    ),
    (
        "an accelerator's number",
        put(f"{POOL}.machineSpec.acceleratorType", 13),
        f"{AT_POOL}.machineSpec.acceleratorType",
        "model-enum",
        "write NVIDIA_H100_80GB",
    ),
    (
        "a strategy with a dash",
        put("jobSpec.scheduling.strategy", "flex-start"),
        "$.jobSpec.scheduling.strategy",
        "model-enum",
        "did you mean FLEX_START?",
    ),
    (
        "a count that is none",
        put(f"{POOL}.replicaCount", "two"),
        f"{AT_POOL}.replicaCount",
        "model-type",
        "a whole number",
    ),
    (
        "half a replica",
        put(f"{POOL}.replicaCount", 1.5),
        f"{AT_POOL}.replicaCount",
        "model-type",
        "1.5",
    ),
    (
        "a truth for a count",
        put(f"{POOL}.replicaCount", True),
        f"{AT_POOL}.replicaCount",
        "model-type",
        "true",
    ),
    (
        "a count beyond 32 bits",
        put(f"{POOL}.machineSpec.acceleratorCount", 2**31),
        f"{AT_POOL}.machineSpec.acceleratorCount",
        "model-range",
        "32 bits",
    ),
    (
        "a count beyond 64 bits",
        put(f"{POOL}.replicaCount", str(2**63)),
        f"{AT_POOL}.replicaCount",
        "model-range",
        "64 bits",
    ),
    (
        "a time without its unit",
        put("jobSpec.scheduling.timeout", 86400),
        "$.jobSpec.scheduling.timeout",
        "model-type",
        'write "86400s"',
    ),
    (
        "hours",
        put("jobSpec.scheduling.timeout", "24h"),
        "$.jobSpec.scheduling.timeout",
        "model-type",
        "seconds as text",
    ),
    (
        "a truth as text",
        put("jobSpec.enableWebAccess", "true"),
        "$.jobSpec.enableWebAccess",
        "model-type",
        "write it without quotes",
    ),
    (
        "a variable's number",
        put(f"{POOL}.containerSpec.env.0.value", 3),
        f"{AT_POOL}.containerSpec.env[0].value",
        "model-type",
        "write it in quotes",
    ),
    (
        "an argument's number",
        put(f"{POOL}.containerSpec.args", ["--epochs", 3]),
        f"{AT_POOL}.containerSpec.args[1]",
        "model-type",
        "write it in quotes",
    ),
    (
        "a command as one text",
        put(f"{POOL}.containerSpec.command", "python train.py"),
        f"{AT_POOL}.containerSpec.command",
        "model-type",
        "a list",
    ),
    (
        "env as an object",
        put(f"{POOL}.containerSpec.env", {"A": "b"}),
        f"{AT_POOL}.containerSpec.env",
        "model-type",
        "a list",
    ),
    ("a label's number", put("labels.n", 3), "$.labels.n", "model-type", "text"),
    ("nothing", put("labels", None), "$.labels", "model-type", "null"),
    (
        "no pool",
        put("jobSpec.workerPoolSpecs.1", None),
        "$.jobSpec.workerPoolSpecs[1]",
        "model-type",
        "null",
    ),
    (
        "two things to run",
        put(
            f"{POOL}.pythonPackageSpec",
            {"executorImageUri": "i", "packageUris": ["gs://b/p"], "pythonModule": "m"},
        ),
        AT_POOL,
        "model-one-of",
        "one of the two",
    ),
    ("half a character", put("displayName", "a\ud800"), "$.displayName", "model-text", "UTF-8"),
]


@pytest.mark.parametrize(
    ("change", "path", "rule", "text"),
    [pytest.param(*case[1:], id=case[0]) for case in MISTAKES],
)
def test_each_mistake_gives_precisely_its_own_problem(
    change: Callable[[Document], None], path: str, rule: str, text: str
):
    document = copy.deepcopy(REQUEST)
    change(document)
    (problem,) = service_model.MODEL.check(document)
    assert (problem.path, problem.severity) == (path, "error")
    assert problem.rule.startswith(rule)
    assert text in str(problem)


def test_all_mistakes_of_a_document_are_reported_at_once():
    document = copy.deepcopy(REQUEST)
    for name in ("misspelt key", "an accelerator with dashes", "hours", "two things to run"):
        next(case for case in MISTAKES if case[0] == name)[1](document)
    assert [problem.rule for problem in service_model.MODEL.check(document)] == [
        "model-enum",
        "model-one-of",
        "model-type",
        "model-key",
    ]


@pytest.mark.parametrize("document", [None, [], "text", 3, True])
def test_what_is_no_object_is_one_problem(document: object):
    (problem,) = service_model.MODEL.check(document)
    assert (problem.path, problem.rule, problem.expected) == ("$", "model-type", "an object")


def test_what_only_the_service_sets_is_a_warning():
    described = {
        **REQUEST,
        "name": "projects/1/locations/us-central1/customJobs/2",
        "state": "JOB_STATE_FAILED",
        "createTime": "2026-11-20T10:00:00.123456Z",
        "error": {"code": 3, "message": "The replica workerpool0-0 exited with 1."},
        "webAccessUris": {"workerpool0-0": "https://example.com"},
    }
    problems = service_model.MODEL.check(described)
    assert {(problem.rule, problem.severity) for problem in problems} == {
        ("model-output-only", "warning")
    }
    assert [problem.path for problem in problems] == [
        "$.name",
        "$.state",
        "$.createTime",
        "$.error",
        "$.webAccessUris",
    ]
    assert not _refused_by_the_client(described)


SECRET = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


def test_what_may_be_a_credential_is_never_shown():
    document = copy.deepcopy(REQUEST)
    container = document["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
    container["args"] = [{"x": SECRET}, [SECRET]]
    container["env"] = [{"name": "A", "value": [SECRET]}, {"name": "B", "value": {"x": SECRET}}]
    container["imageUri"] = [SECRET]
    document[SECRET] = SECRET
    document["labels"] = SECRET
    problems = service_model.MODEL.check(document)
    assert len(problems) == 7
    assert SECRET[:12] not in json.dumps([asdict(problem) for problem in problems])


def test_numbers_of_enumerations_get_their_names():
    document = copy.deepcopy(REQUEST)
    document["jobSpec"]["workerPoolSpecs"][0]["machineSpec"]["acceleratorType"] = 8
    document["jobSpec"]["scheduling"]["strategy"] = 4
    assert spelling.with_names(document) == REQUEST
    assert spelling.with_names({"jobSpec": [1], "labels": 3, "x": {}}) == {
        "jobSpec": [1],
        "labels": 3,
        "x": {},
    }


@settings(max_examples=600, deadline=None, database=None)
@given(document=documents())
@pytest.mark.processes
def test_what_the_client_refuses_is_refused_here(document: Document):
    if not errors(service_model.MODEL.check(document)):
        assert not _refused_by_the_client(document)


@settings(max_examples=200, deadline=None, database=None)
@given(document=documents())
def test_what_the_client_prints_has_the_shape(document: Document):
    """Whatever the client can hold, printed with names, lacks required fields at the most."""
    try:
        job = CustomJob.from_json(json.dumps(document))
    except ParseError:
        return
    printed = MessageToDict(CustomJob.pb(job))
    rules = {problem.rule for problem in errors(service_model.MODEL.check(printed))}
    # An unknown number of an enumeration has no name to print.
    assert (
        rules <= {"model-missing", "model-type"}
        if _has_number(printed)
        else rules <= {"model-missing"}
    )


def _has_number(printed: Document) -> bool:
    """Whether an enumeration was printed as a number."""
    spec = printed.get("jobSpec", {})
    found = [printed.get("state"), spec.get("scheduling", {}).get("strategy")]
    for pool in spec.get("workerPoolSpecs", []):
        machine = pool.get("machineSpec", {})
        affinity = machine.get("reservationAffinity", {})
        found += [machine.get("acceleratorType"), affinity.get("reservationAffinityType")]
    return any(isinstance(value, int) for value in found)
