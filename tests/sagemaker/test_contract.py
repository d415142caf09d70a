"""What each host of a request sees, as SageMaker documents it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from launchers.core.model.containers import Container
from launchers.sagemaker.contract import conduct, contract, unlike
from launchers.sagemaker.launcher import SAGEMAKER
from launchers.sagemaker.sidecars.declared import STORE_URL
from tests.sagemaker.documents import captured, plain, rendered
from tests.sagemaker.starts.test_starts import STARTS

CONFIG = "/opt/ml/input/config"
FULL, MINIMAL = "v2_tf_mpi_full.json", "v2_tf_mpi_minimal.json"


def config(container: Container, name: str) -> Any:
    """One of the three files, parsed."""
    content = container.files[f"{CONFIG}/{name}.json"]
    assert isinstance(content, bytes)
    return json.loads(content)


def changed(document: dict[str, Any], **values: Any) -> dict[str, Any]:
    """``document`` with other values at its top."""
    return {**document, **values}


def test_the_document_is_not_changed() -> None:
    document = plain()
    before = copy.deepcopy(document)
    contract(document, ranks_per_host=1)
    assert document == before


def test_hosts_are_algo_1_to_n_and_the_first_leads() -> None:
    hosts = contract(rendered(instances=3))
    assert [host.name for host in hosts] == ["algo-1", "algo-2", "algo-3"]
    assert [host.hostname for host in hosts] == ["algo-1", "algo-2", "algo-3"]
    assert [host.leader for host in hosts] == [True, False, False]
    assert [host.ranks for host in hosts] == [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11)]


def test_hosts_are_in_the_services_order_of_names() -> None:
    document = plain()
    document["ResourceConfig"]["InstanceCount"] = 11
    hosts = contract(document)
    assert [host.name for host in hosts][:4] == ["algo-1", "algo-10", "algo-11", "algo-2"]
    assert config(hosts[1], "resourceconfig")["hosts"][1] == "algo-10"
    assert hosts[1].ranks == (4, 5, 6, 7)


def test_resourceconfig() -> None:
    assert config(contract(plain())[1], "resourceconfig") == {
        "current_host": "algo-2",
        "current_instance_type": "ml.g5.12xlarge",
        "current_group_name": "homogeneousCluster",
        "hosts": ["algo-1", "algo-2"],
        "instance_groups": [
            {
                "instance_group_name": "homogeneousCluster",
                "instance_type": "ml.g5.12xlarge",
                "hosts": ["algo-1", "algo-2"],
            }
        ],
        "network_interface_name": "eth0",
    }


def test_hosts_of_instance_groups_are_numbered_through() -> None:
    groups = [
        {"InstanceGroupName": "gpu", "InstanceType": "ml.g5.xlarge", "InstanceCount": 2},
        {"InstanceGroupName": "cpu", "InstanceType": "ml.c5.xlarge", "InstanceCount": 1},
    ]
    hosts = contract(changed(plain(), ResourceConfig={"InstanceGroups": groups}))
    found = [config(host, "resourceconfig")["current_group_name"] for host in hosts]
    assert found == ["gpu", "gpu", "cpu"]
    assert [host.gpus for host in hosts] == [1, 1, 0]


@pytest.mark.parametrize("name", [FULL, MINIMAL])
def test_hyperparameters_are_those_of_the_request_to_the_letter(name: str) -> None:
    document = captured(name)
    for host in contract(document):
        assert config(host, "hyperparameters") == document["HyperParameters"]


def test_inputdataconfig_names_every_channel() -> None:
    document = captured(FULL)
    document["InputDataConfig"][0]["ContentType"] = "text/csv"
    document["InputDataConfig"][0]["InputMode"] = "FastFile"
    assert config(contract(document)[0], "inputdataconfig") == {
        "training": {
            "ContentType": "text/csv",
            "TrainingInputMode": "FastFile",
            "S3DistributionType": "FullyReplicated",
            "RecordWrapperType": "None",
        },
        "code": {
            "TrainingInputMode": "File",
            "S3DistributionType": "FullyReplicated",
            "RecordWrapperType": "None",
        },
    }


def test_the_environment_is_the_requests_and_the_services_own() -> None:
    document = rendered(environment={"A": "http://x/y#frag", "B": "one\ntwo"})
    found = contract(document)[0].environment
    name = document["TrainingJobName"]
    assert {key: found[key] for key in document["Environment"]} == document["Environment"]
    assert set(found) - set(document["Environment"]) == {
        "TRAINING_JOB_NAME",
        "TRAINING_JOB_ARN",
        "AWS_REGION",
    }
    assert found["TRAINING_JOB_NAME"] == name
    assert found["TRAINING_JOB_ARN"].endswith(f":training-job/{name}")


def test_the_bundle_lies_where_its_channel_brings_it() -> None:
    host = contract(plain())[0]
    assert host.code == "/opt/ml/input/data/code/sourcedir.tar.gz"
    assert [channel.name for channel in host.channels] == []


def test_a_bundle_lies_under_its_objects_name_whatever_the_toolkit_looks_for() -> None:
    document = plain()
    source = document["InputDataConfig"][-1]["DataSource"]["S3DataSource"]
    source["S3Uri"] = "s3://bucket/another.tar.gz"
    assert contract(document)[0].code == "/opt/ml/input/data/code/another.tar.gz"


def test_code_in_s3_is_served_by_the_object_store_unless_aws_itself_is_asked() -> None:
    document = captured(MINIMAL)
    host = contract(document)[0]
    assert host.code == "s3://my-bucket/mpi-demo/source/sourcedir.tar.gz"
    assert host.environment["S3_ENDPOINT_URL"] == STORE_URL
    assert "S3_ENDPOINT_URL" not in contract(document, serve_code=False)[0].environment


def test_a_request_without_code_runs_what_the_image_has() -> None:
    document = captured(MINIMAL)
    del document["HyperParameters"]["sagemaker_submit_directory"]
    assert contract(document)[0].code == ""


def test_channels_other_than_the_code() -> None:
    document = captured(FULL)
    source = document["InputDataConfig"][0]["DataSource"]["S3DataSource"]
    source["S3DataDistributionType"] = "ShardedByS3Key"
    (channel,) = contract(document)[0].channels
    assert (channel.name, channel.path, channel.uri) == (
        "training",
        "/opt/ml/input/data/training",
        "s3://my-bucket/data",
    )
    assert (channel.sharded, channel.streamed) == (True, False)


def test_the_command_is_train_unless_the_request_says_otherwise() -> None:
    assert (contract(plain())[0].entrypoint, contract(plain())[0].command) == ((), ("train",))
    document = plain()
    document["AlgorithmSpecification"]["ContainerEntrypoint"] = ["python", "-u"]
    document["AlgorithmSpecification"]["ContainerArguments"] = ["a.py", "b c"]
    host = contract(document)[0]
    assert (host.entrypoint, host.command) == (("python", "-u"), ("a.py", "b c"))


def test_fewer_ranks_change_what_the_containers_see_and_nothing_else() -> None:
    document = plain()
    host = contract(document, ranks_per_host=2)[1]
    whole = contract(document)[1]
    assert host.ranks == (2, 3)
    before, after = config(whole, "hyperparameters"), config(host, "hyperparameters")
    assert after.pop("sagemaker_mpi_num_of_processes_per_host") == "2"
    assert before.pop("sagemaker_mpi_num_of_processes_per_host") == "4"
    assert after == before
    differing = {
        key: value for key, value in host.environment.items() if whole.environment[key] != value
    }
    assert differing == {"LAUNCH_WORLD_SIZE": "4", "LAUNCH_PROCESSES": "2"}


def test_fewer_ranks_add_no_variable_to_a_foreign_document() -> None:
    found = contract(captured(FULL), ranks_per_host=1)[0].environment
    assert not any(key.startswith("LAUNCH_") for key in found)


def test_without_mpi_each_host_is_a_job_of_its_own() -> None:
    document = captured(MINIMAL)
    del document["HyperParameters"]["sagemaker_mpi_enabled"]
    assert [host.ranks for host in contract(document)] == [(), ()]


def test_checkpoints_are_kept_only_where_the_request_says_so() -> None:
    assert contract(captured(FULL))[0].kept == ("/opt/ml/checkpoints",)
    assert contract(captured(MINIMAL))[0].kept == ()


def test_model_and_output_are_what_the_service_keeps() -> None:
    assert contract(plain())[0].collected == {
        "model": "/opt/ml/model",
        "output": "/opt/ml/output",
    }


def test_conduct_is_the_requests() -> None:
    found = conduct(captured(FULL))
    assert (found.max_runtime, found.stop_grace, found.follow_within) == (3600, 120.0, 60.0)
    assert found.isolated is True
    assert conduct(captured(MINIMAL)).isolated is False


def test_the_ranks_are_those_of_the_groups_that_train_together() -> None:
    hosts = contract(STARTS["groups with the key"][0])
    assert [host.ranks for host in hosts] == [(0, 1, 2, 3), (4, 5, 6, 7), ()]
    fewer = contract(STARTS["groups with the key"][0], ranks_per_host=1)
    assert [host.ranks for host in fewer] == [(0,), (1,), ()]


def test_hosts_of_groups_apart_have_no_ranks_of_one_job() -> None:
    assert {host.ranks for host in contract(STARTS["groups without the key"][0])} == {()}


def test_the_first_host_with_ranks_leads() -> None:
    document = copy.deepcopy(STARTS["groups with the key"][0])
    document["HyperParameters"]["sagemaker_distribution_instance_groups"] = '["g2"]'
    hosts = contract(document)
    assert [host.leader for host in hosts] == [False, False, True]
    assert [host.ranks for host in hosts] == [(), (), (0, 1, 2, 3)]


def test_a_count_that_the_toolkit_takes_from_the_gpus_is_written_for_containers_without() -> None:
    document = STARTS["MPI without a count is one a GPU"][0]
    hosts = contract(document)
    assert [host.ranks for host in hosts] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    name = "sagemaker_mpi_num_of_processes_per_host"
    assert {config(host, "hyperparameters")[name] for host in hosts} == {"4"}
    assert conduct(document).left_out == (f"{name} is set to 4: no GPUs are counted here",)
    assert conduct(plain()).left_out == ()


REHEARSED = (
    "MPI",
    "groups with the key",
    "nothing, four GPUs",
    "a program of the image's own",
    "MultiWorkerMirrored",
    "torchrun",
    "torchrun in an image of one's own",
)
NOT_REHEARSED = {
    "smdistributed": "the rehearsal does not watch ranks that are started so",
    "parameter servers": "TF_CONFIG",
}


@pytest.mark.parametrize("name", REHEARSED)
def test_what_containers_of_this_machine_can_show_is_rehearsed(name: str) -> None:
    assert unlike(STARTS[name][0]) == ""


def test_torchruns_ranks_are_placed_only_where_the_image_is_known_to_start_them() -> None:
    known, own = (STARTS[name][0] for name in REHEARSED[-2:])
    assert [host.ranks for host in contract(known)] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert {host.ranks for host in contract(own)} == {()}
    for document in (known, own):
        assert SAGEMAKER.reader.examine(document).definition.strategy == "torch"
    assert SAGEMAKER.reader.examine(STARTS["MPI"][0]).definition.strategy == ""


def test_tensorflows_hosts_are_watched_by_the_strategy_that_their_flag_is_for() -> None:
    document = STARTS["MultiWorkerMirrored"][0]
    assert [host.ranks for host in contract(document)] == [(0,), (1,)]
    assert SAGEMAKER.reader.examine(document).definition.strategy == "tensorflow"


@pytest.mark.parametrize("name", NOT_REHEARSED)
def test_what_they_cannot_show_is_said(name: str) -> None:
    assert NOT_REHEARSED[name] in unlike(STARTS[name][0])


@pytest.mark.parametrize(
    ("source", "uri"),
    [
        (
            {
                "FileSystemDataSource": {
                    "FileSystemId": "fs-01234567",
                    "FileSystemType": "FSxLustre",
                    "FileSystemAccessMode": "ro",
                    "DirectoryPath": "/abc/x",
                }
            },
            "fsx://fs-01234567/abc/x",
        ),
        (
            {"S3DataSource": {"S3DataType": "ManifestFile", "S3Uri": "s3://b/m.json"}},
            "manifest s3://b/m.json",
        ),
    ],
    ids=["a file system", "a manifest"],
)
def test_data_that_no_object_store_has_is_given_by_a_folder_of_this_machine(
    source: dict[str, Any], uri: str
) -> None:
    document = plain()
    document["InputDataConfig"].insert(0, {"ChannelName": "train", "DataSource": source})
    (channel,) = contract(document)[0].channels
    # Of no scheme that is copied from: --local-channel gives it, or it is empty and said to be.
    assert (channel.name, channel.uri) == ("train", uri)
    assert not uri.startswith("s3://")
