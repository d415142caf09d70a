"""A problem in a wrapping stands where its reader finds it: at the place in the file."""

from __future__ import annotations

import copy
import json
from inspect import cleandoc
from typing import Any

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.model.unknown import Unknown
from launchers.core.reading.documents import examine, open_size, specs_in
from tests.sagemaker.documents import captured
from tests.vertex.documents import captured as custom_job

REQUEST = captured("v2_tf_mpi_full.json")
JOB = custom_job("n1_4xT4.json")


def changed(document: Any, value: Any, *steps: Any) -> Any:
    document = copy.deepcopy(document)
    part = document
    for step in steps[:-1]:
        part = part[step]
    part[steps[-1]] = value
    return document


BAD = changed(REQUEST, "ml.g5.13xlarge", "ResourceConfig", "InstanceType")
BAD_POOLS = changed(
    JOB["jobSpec"], "NVIDIA_TESLA_T5", "workerPoolSpecs", 0, "machineSpec", "acceleratorType"
)
STATE = {
    "Type": "Task",
    "Resource": "arn:aws:states:::sagemaker:createTrainingJob.sync",
    "Parameters": BAD,
}
MACHINE = {"StartAt": "a", "States": {"My state": STATE}}
ACK = {
    "apiVersion": "sagemaker.services.k8s.aws/v1alpha1",
    "kind": "TrainingJob",
    "spec": {
        "trainingJobName": "x",
        "roleARN": REQUEST["RoleArn"],
        "resourceConfig": {"instanceType": "ml.g5.13xlarge", "instanceCount": 1},
    },
}


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ([BAD], "$[0].ResourceConfig.InstanceType"),
        ({"Training": BAD}, "$.Training.ResourceConfig.InstanceType"),
        (ACK, "$.spec.resourceConfig.instanceType"),
        (ACK, "$.spec.outputDataConfig"),
        (MACHINE, '$.States["My state"].Parameters.ResourceConfig.InstanceType'),
        (
            {"stateMachineArn": "x", "definition": json.dumps(MACHINE)},
            '$.definition.States["My state"].Parameters.ResourceConfig.InstanceType',
        ),
        (
            {"Version": "2020-12-01", "Steps": [{"Type": "Training", "Arguments": BAD}]},
            "$.Steps[0].Arguments.ResourceConfig.InstanceType",
        ),
        (
            {"serviceRequestPayload": json.dumps(BAD)},
            "$.serviceRequestPayload.ResourceConfig.InstanceType",
        ),
        (
            {"displayName": "x", "trialJobSpec": BAD_POOLS},
            "$.trialJobSpec.workerPoolSpecs[0].machineSpec.acceleratorType",
        ),
        (
            {"trainingTaskInputs": BAD_POOLS, "displayName": "x"},
            "$.trainingTaskInputs.workerPoolSpecs[0].machineSpec.acceleratorType",
        ),
    ],
)
def test_a_problem_stands_at_its_place_in_the_file(tree: Any, path: str):
    [spec] = specs_in([tree], "x.json")
    assert path in {problem.path for problem in examine(spec).problems}


def test_a_definition_that_is_no_json_is_said_with_its_place():
    tree = {"stateMachineArn": "x", "definition": '{"StartAt": '}
    with pytest.raises(LaunchError) as caught:
        specs_in([tree], "x.json")
    assert caught.value.problems[0].path == "$.definition"


def test_more_entries_than_any_tool_has_are_refused():
    with pytest.raises(LaunchError) as caught:
        specs_in([[{"a": 1}] * 10_001], "x.json")
    assert caught.value.problems[0].rule == "file-too-large"


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"AWSTemplateFormatVersion": "x", "Resources": {"a": {"Type": "AWS::S3::Bucket"}}}, "no"),
        ({"format_version": "1.2", "resource_changes": []}, "aws_sagemaker_training_job"),
        ({"StartAt": "a", "States": {}}, "createTrainingJob"),
        ({"Version": "2020-12-01", "Steps": []}, "without a step that trains"),
        ({"PipelineDefinitionS3Location": {}, "PipelineName": "x"}, "lies in S3"),
        ({"apiVersion": "v1", "kind": "Service", "spec": {}}, "a Service of Kubernetes"),
        ({"TrainingJobSummaries": []}, "describe-training-job"),
        ({"ProcessingJobName": "x", "AppSpecification": {}}, "a job of another kind"),
        ({"main": {"steps": []}}, "customJobs.create"),
        ({"trainingTaskDefinition": "gs://x/automl_1.yaml"}, "automl_1.yaml"),
        ({"deploymentSpec": {}, "root": {}, "components": {}}, "without a CustomJob"),
        ({"cells": [], "nbformat": 4}, "a notebook"),
        ([{"apiVersion": "v1", "kind": "Service", "spec": {}}], "a Service of Kubernetes"),
        (
            [{"apiVersion": "v1", "kind": "Namespace"}, {"apiVersion": "x/v1", "kind": "MPIJob"}],
            "an MPIJob of Kubernetes (x/v1)",
        ),
        (
            {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "spec": {}},
            "an Argo workflow",
        ),
        (
            {"Resources": {"M": {"Type": "x", "Properties": {"DefinitionUri": "train.asl.json"}}}},
            "the definition of M lies in train.asl.json",
        ),
        ({"resource": {"aws_sfn_state_machine": {"main": {}}}}, "terraform show -json"),
    ],
)
def test_a_document_without_a_job_says_what_it_is(tree: Any, words: str):
    with pytest.raises(LaunchError) as caught:
        specs_in([tree], "x.json")
    [problem] = caught.value.problems
    assert problem.rule == "file-shape"
    assert words in problem.found


@pytest.mark.parametrize(
    "tree",
    [
        {"Training": {"note": "no request"}, "a": 1},
        {"spec": REQUEST["ResourceConfig"], "kind": 3, "apiVersion": 4},
        {"States": "x", "StartAt": "y"},
        {"Steps": "x", "Version": "y"},
        {"Resources": {"a": "b"}},
        {"Resources": {"a": {"Type": "AWS::StepFunctions::StateMachine", "Properties": 3}}},
        {"format_version": "1", "resource_changes": [3, {"change": 4}, {"change": {"after": 5}}]},
        {
            "format_version": "1",
            "resource_changes": [{"change": {"after": {}, "after_unknown": True}}],
        },
        {"terraform_version": "1", "resources": [3, {"instances": [4, {"attributes": 5}]}]},
        {"Records": [3, {"requestParameters": 4}]},
        {"TrainingJobDefinition": 3, "TrainingJobDefinitions": 4},
        {"pipelineSpec": {"root": 3, "components": 4, "deploymentSpec": 5}},
        {"serviceRequestPayload": "[]"},
        {"source": "aws.sagemaker", "detail": {}},
        {"tasks": [3, {"operator": 4}], "x": 1},
        {"trialJobSpec": 3, "trainingTaskInputs": 4},
        {"main": {"steps": [{"a": {"call": 3, "args": 4}}]}},
        {
            "apiVersion": "argoproj.io/v1",
            "kind": "Workflow",
            "spec": {"resource": {"manifest": "x"}},
        },
        {
            "apiVersion": "argoproj.io/v1",
            "kind": "Workflow",
            "spec": [{"resource": {"manifest": 3}}],
        },
        {"resource": "x", "Resources": {"a": {"Type": "b", "Properties": {"DefinitionUri": 3}}}},
    ],
)
def test_a_document_that_looks_like_one_by_accident_is_refused_in_words(tree: Any):
    with pytest.raises(LaunchError) as caught:
        specs_in([tree], "x.json")
    assert caught.value.problems[0].rule == "file-shape"


def test_the_hint_of_an_unknown_file_names_the_whole_that_a_tool_would_know():
    machine = {
        "StartAt": "Train",
        "States": {
            "Train": {
                "Type": "Task",
                "Resource": "arn:aws:states:::sagemaker:createTrainingJob.sync",
                "Parameters": {**REQUEST, "RoleArn.$": "$.role"},
            }
        },
    }
    del machine["States"]["Train"]["Parameters"]["RoleArn"]
    for tree, place in (
        ({"machines": {"train": {"definition": machine}}}, "$.machines.train.definition"),
        ({"jobs": [REQUEST, REQUEST]}, "$.jobs"),
    ):
        with pytest.raises(LaunchError) as caught:
            specs_in([tree], "x.yaml")
        assert f"--job '{place}' takes it" in caught.value.problems[0].fix
        assert all(examine(spec).started == 8 for spec in specs_in([tree], "x.yaml", place))


def test_what_fills_a_definition_in_is_unknown_but_for_a_shells_variables():
    algorithm = {
        **REQUEST["AlgorithmSpecification"],
        "TrainingImage": "${account}.dkr.ecr.${region}.amazonaws.com/train:1",
        "ContainerArguments": ["echo ${SM_HOSTS}"],
    }
    state = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sagemaker:createTrainingJob.sync",
        "Parameters": {**REQUEST, "RoleArn": "${Role}", "AlgorithmSpecification": algorithm},
    }
    [spec] = specs_in([{"StartAt": "Train", "States": {"Train": state}}], "train.asl.json")
    found = spec.document["AlgorithmSpecification"]
    assert spec.document["RoleArn"] == Unknown("${Role}")
    assert found["TrainingImage"] == Unknown(algorithm["TrainingImage"])
    assert found["ContainerArguments"] == ["echo ${SM_HOSTS}"]


def test_a_credential_stays_one_whatever_is_filled_in_beside_it():
    address = "postgres://app:k8Zq2vXw9LmT4r@db/${Stage}"
    parameters = {**REQUEST, "Environment": {"DB": address, "PASSWORD": "${Password}"}}
    state = {**STATE, "Parameters": parameters}
    [spec] = specs_in([{"StartAt": "Train", "States": {"Train": state}}], "train.asl.json")
    found = [problem for problem in examine(spec).problems if problem.rule == "credential"]
    assert [problem.path for problem in found] == [spec.place + ".Environment.DB"]
    assert "k8Zq2vXw9LmT4r" not in found[0].found


def test_the_variables_of_a_manifest_are_unknown_and_its_problems_have_a_place():
    manifest = cleandoc("""
        apiVersion: sagemaker.services.k8s.aws/v1alpha1
        kind: TrainingJob
        spec:
          trainingJobName: "train-{{workflow.uid}}"
          resourceConfig:
            instanceCount: {{inputs.parameters.hosts}}
            instanceType: ml.p4d.25xlarge
    """)
    template = {"name": "train", "resource": {"action": "create", "manifest": manifest}}
    workflow = {"apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow"}
    tree = {**workflow, "spec": {"workflowSpec": {"templates": [template]}}}
    [spec] = specs_in([tree], "x.yaml")
    place = "$.spec.workflowSpec.templates[0].resource.manifest.spec"
    assert spec.place == place
    assert open_size(spec) == (
        f"{place}.resourceConfig.instanceCount is {{{{inputs.parameters.hosts}}}}, "
        "which is not known here"
    )
    problems = {problem.path: problem.rule for problem in examine(spec).problems}
    assert problems[f"{place}.resourceConfig.instanceType"] == "model-enum"
    assert f"{place}.trainingJobName" not in problems
    template["resource"]["action"] = "delete"
    with pytest.raises(LaunchError, match="an Argo workflow without"):
        specs_in([tree], "x.yaml")
    template["resource"]["action"] = "apply"
    template["resource"]["manifest"] = f"{manifest}\n---\n{manifest}\n"
    assert [spec.place for spec in specs_in([tree], "x.yaml")] == [
        f"{place.removesuffix('.spec')}[{index}].spec" for index in (0, 1)
    ]
