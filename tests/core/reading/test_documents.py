"""The specs in a file that another tool made: found, chosen, and checked with its own places."""

from __future__ import annotations

from typing import Any

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.model.unknown import Unknown
from launchers.core.reading.documents import examine, open_size, specs_in
from launchers.core.wrappings.places import Places
from launchers.core.wrappings.spec import Spec
from tests.sagemaker.documents import captured as sagemaker_captured
from tests.vertex.documents import captured as vertex_captured

REQUEST = "v2_tf_mpi_full.json"


def request(**changes: Any) -> dict[str, Any]:
    return {**sagemaker_captured(REQUEST), **changes}


def test_a_request_is_its_own_spec_at_the_root():
    [spec] = specs_in([request()], "x.json")
    assert (spec.provider, spec.place, spec.kind) == ("sagemaker", "$", "")
    assert examine(spec).started == 8


def test_a_list_and_a_stream_of_several_are_checked_one_by_one():
    both = [request(), vertex_captured("n1_4xT4.json")]
    for trees in ([both], both):
        specs = specs_in(trees, "x.json")
        assert [(spec.provider, spec.place) for spec in specs] == [
            ("sagemaker", "$[0]"),
            ("vertex", "$[1]"),
        ]
    broken = examine(specs_in([[request(RoleArn="x")]], "x.json")[0])
    assert "$[0].RoleArn" in {problem.path for problem in broken.problems}


def test_one_of_several_is_taken_by_its_place():
    trees = [{"train": {"request": request()}, "note": "x"}]
    with pytest.raises(LaunchError) as caught:
        specs_in(trees, "x.json")
    [problem] = caught.value.problems
    assert problem.rule == "file-shape"
    assert "--job '$.train.request' takes it" in problem.fix
    [spec] = specs_in(trees, "x.json", "$.train.request")
    assert spec.place == "$.train.request"
    assert specs_in(trees, "x.json", "train.request")[0].place == "$.train.request"


@pytest.mark.parametrize("job", ["$.note", "$.train.other", "$.note[3]", "$.train.request: x"])
def test_a_place_without_a_job_is_said(job: str):
    with pytest.raises(LaunchError) as caught:
        specs_in([{"train": {"request": request()}, "note": ["x"]}], "x.json", job)
    assert caught.value.problems[0].rule == "job-place"


@pytest.mark.parametrize("tree", [None, {}, [], "text", 3, ["a"], {"a": 1}])
def test_what_holds_no_job_is_refused(tree: Any):
    with pytest.raises(LaunchError) as caught:
        specs_in([tree], "x.yaml")
    assert caught.value.problems[0].rule == "file-shape"


@pytest.mark.parametrize(
    ("place", "value", "because"),
    [
        ("ResourceConfig", Unknown("$.machines"), "$.ResourceConfig is $.machines"),
        ("HyperParameters", Unknown("$.hyper"), "$.HyperParameters is $.hyper"),
    ],
)
def test_a_size_that_depends_on_an_unknown_cannot_be_told(place: str, value: Any, because: str):
    spec = Spec("sagemaker", request(**{place: value}))
    found = examine(spec, world_size=8)
    assert found.started is None
    assert found.because == f"{because}, which is not known here"
    assert open_size(spec) == found.because
    assert not [problem for problem in found.problems if problem.severity == "error"]


def test_an_unknown_is_no_error_and_changes_no_size_where_none_depends_on_it():
    spec = Spec("sagemaker", request(RoleArn=Unknown("!Ref Role"), TrainingJobName=Unknown("x")))
    found = examine(spec)
    assert found.started == 8
    assert found.definition.document["RoleArn"] == Unknown("!Ref Role")
    assert '"RoleArn": "!Ref Role"' in found.definition.text
    assert not [problem for problem in found.problems if problem.severity == "error"]


def test_places_are_those_of_what_was_read():
    places = Places(
        "$.spec",
        moved={("ResourceConfig",): "$.spec.resourceConfig"},
        style=lambda key: key[:1].lower() + key[1:],
    )
    assert places.of("$.ResourceConfig.InstanceCount") == "$.spec.resourceConfig.instanceCount"
    assert places.of("$.RoleArn") == "$.spec.roleArn"
    assert places.of("--world-size") == "--world-size"
    assert places.of('$.Environment["A B"]: x') == '$.spec.environment["a B"]: x'
    assert places.in_text("as $.RoleArn says.") == "as $.spec.roleArn says."
    assert places.within("ResourceConfig").of("$.InstanceCount") == (
        "$.spec.resourceConfig.instanceCount"
    )


def test_an_unknown_that_holds_a_credential_is_not_shown():
    text = "postgres://admin:Zq8vK2mW9xR4tB7n@db.example.com/$.x"
    found = examine(Spec("sagemaker", request(ResourceConfig=Unknown(text))))
    assert found.because == "$.ResourceConfig is an expression, which is not known here"
    [problem] = [one for one in found.problems if one.rule == "credential"]
    assert problem.path == "$.ResourceConfig"
    assert "Zq8vK2mW9xR4tB7n" not in problem.found
