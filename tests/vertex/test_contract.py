"""What each replica of a CustomJob sees, and how the service ends the job."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from launch_runtime.host.cluster import read

from launchers.core.model.containers import Container
from launchers.vertex.contract import conduct, contract
from launchers.vertex.document import bootstrap, escaped
from launchers.vertex.replica_environment import expanded
from tests.refusals import refused
from tests.vertex.documents import rendered

PRIMARY = "cmle-training-workerpool0-0123456789-0"
WORKER = "cmle-training-workerpool1-0123456789-{}"


def foreign(*words: str, replicas: int = 1, **more: Any) -> dict[str, Any]:
    """A CustomJob of somebody else's; ``more`` goes into its containers."""
    container = {"imageUri": "us-docker.pkg.dev/p/r/hvd:1", "args": list(words[1:]), **more}
    if words:
        container["command"] = [words[0]]
    pool = {
        "machineSpec": {
            "machineType": "n1-standard-16",
            "acceleratorType": "NVIDIA_TESLA_T4",
            "acceleratorCount": 4,
        },
        "replicaCount": "1",
        "containerSpec": container,
    }
    pools = [pool, {**pool, "replicaCount": str(replicas - 1)}][:replicas]
    return {"displayName": "theirs", "jobSpec": {"workerPoolSpecs": pools}}


def spec_of(container: Container) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(container.environment["CLUSTER_SPEC"])
    return spec


def test_one_container_a_replica_the_primary_first() -> None:
    three = contract(rendered(instances=3))
    assert [item.name for item in three] == ["workerpool0-0", "workerpool1-0", "workerpool1-1"]
    assert [item.address for item in three] == [PRIMARY, WORKER.format(0), WORKER.format(1)]
    assert [item.leader for item in three] == [True, False, False]
    assert [item.ranks for item in three] == [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11)]
    assert [item.gpus for item in three] == [4, 4, 4]
    assert len({item.hostname for item in three}) == 3
    assert not {item.hostname for item in three} & {item.address for item in three}


def test_the_documents_command_and_arguments_are_taken_to_the_letter() -> None:
    document = rendered(arguments=("--name", "$(HOME) 'x' \"y\""))
    spec = document["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
    first = contract(document)[0]
    assert first.entrypoint == ("python3", "-c", bootstrap())
    assert list(first.command) == spec["args"]
    assert (first.code, first.code_digest) == (spec["args"][0], spec["args"][1])
    assert first.image == spec["imageUri"]


def test_without_its_code_nothing_is_put_into_the_bucket() -> None:
    assert {item.code for item in contract(rendered(), serve_code=False)} == {""}


@pytest.mark.parametrize("instances", [1, 3])
def test_the_agent_reads_the_cluster_out_of_the_environment(instances: int) -> None:
    for number, container in enumerate(contract(rendered(instances=instances))):
        cluster = read(container.environment)
        assert cluster.own.name == container.name
        assert (cluster.position, len(cluster.hosts), cluster.managed) == (number, instances, True)
        if instances > 1:
            assert cluster.own.address == container.address
            assert cluster.port == 3333


def test_the_services_own_variables_count_replicas() -> None:
    first, second, third = (item.environment for item in contract(rendered(instances=3)))
    for number, seen in enumerate((first, second, third)):
        assert (seen["RANK"], seen["WORLD_SIZE"]) == (str(number), "3")
        assert (seen["MASTER_ADDR"], seen["MASTER_PORT"]) == (PRIMARY, "3333")
        assert seen["CLOUD_ML_PROJECT_ID"].isdecimal()
        assert seen["CLOUD_ML_JOB_ID"] == "0123456789"
    config = json.loads(second["TF_CONFIG"])
    assert config["task"] == {"type": "worker", "index": 0}
    assert config["cluster"]["chief"] == [f"{PRIMARY}:2222"]
    assert isinstance(json.loads(first["CLUSTER_SPEC"])["job"], str)


def test_a_single_replica_is_no_distributed_job() -> None:
    (only,) = contract(rendered(instances=1))
    assert spec_of(only)["cluster"] == {"workerpool0": [f"{PRIMARY}:2222"]}
    assert not {"TF_CONFIG", "MASTER_ADDR", "RANK", "WORLD_SIZE"} & set(only.environment)


def test_folders_of_the_bucket_are_addresses_and_one_mount_for_all() -> None:
    document = rendered()
    document["jobSpec"]["baseOutputDirectory"]["outputUriPrefix"] = "gs://out-bucket/a/b/"
    first, second = contract(document)
    for seen in (first.environment, second.environment):
        assert seen["AIP_MODEL_DIR"] == "gs://out-bucket/a/b/model/"
        assert seen["AIP_CHECKPOINT_DIR"] == "gs://out-bucket/a/b/checkpoints/"
        assert seen["AIP_TENSORBOARD_LOG_DIR"] == "gs://out-bucket/a/b/logs/"
    assert first.shared == second.shared == ("/gcs",)
    assert "/gcs/out-bucket" in first.folders
    assert first.collected == {
        "model": "/gcs/out-bucket/a/b/model",
        "logs": "/gcs/out-bucket/a/b/logs",
    }
    assert second.collected == {}


def test_without_a_base_output_directory_there_are_no_such_folders() -> None:
    document = rendered()
    del document["jobSpec"]["baseOutputDirectory"]
    first = contract(document)[0]
    assert not [name for name in first.environment if name.startswith("AIP_")]
    assert first.collected == {}


# value; variables before it; what the replica sees
VALUES = {
    "nothing to expand": ("a $HOME ${X} $5 a$$b $", {}, "a $HOME ${X} $5 a$$b $"),
    "a variable": ("$(A)/x", {"A": "1"}, "1/x"),
    "one that is not known": ("$(A)/x", {}, "$(A)/x"),
    "an escape": ("$$(A)", {"A": "1"}, "$(A)"),
    "an escape and a variable": ("$$$(A)", {"A": "1"}, "$1"),
    "two escapes": ("$$$$(A)", {"A": "1"}, "$$(A)"),
    "not closed": ("$(A", {"A": "1"}, "$(A"),
}


@pytest.mark.parametrize("case", VALUES)
def test_values_are_expanded_as_the_api_documents_it(case: str) -> None:
    value, known, seen = VALUES[case]
    assert expanded(value, known) == seen


@pytest.mark.parametrize(
    "value", ["$(A)", "$$(A)", "x$$$(A)y", "$", "$$", "$(", "$$(", "a$$b", "$A", "(A)", "$((A))"]
)
def test_what_the_plan_escapes_arrives_as_it_was_meant(value: str) -> None:
    assert expanded(escaped(value), {"A": "1"}) == value


def test_a_variable_may_refer_to_one_before_it_and_to_the_services() -> None:
    variables = [
        {"name": "A", "value": "$(CLOUD_ML_JOB_ID)"},
        {"name": "B", "value": "$(A)-$(C)"},
        {"name": "C", "value": "3"},
    ]
    seen = contract(foreign("true", env=variables))[0].environment
    assert (seen["A"], seen["B"]) == ("0123456789", "0123456789-$(C)")


def test_fewer_ranks_change_what_is_seen_and_not_the_document() -> None:
    document = rendered()
    before = copy.deepcopy(document)
    first, second = contract(document, ranks_per_host=1)
    assert (first.environment["LAUNCH_PROCESSES"], first.environment["LAUNCH_WORLD_SIZE"]) == (
        "1",
        "2",
    )
    assert (first.ranks, second.ranks) == ((0,), (1,))
    assert document == before


MEETING = (
    *("--nnodes=2", "--nproc_per_node=2", "--rdzv_backend=c10d"),
    "--rdzv_endpoint=cmle-training-workerpool0-0123456789-0:2222",
)
# document of somebody else; entry point, command, ranks of the replicas
FOREIGN = {
    "the image's own": (foreign(), (), (), [()]),
    "arguments for it": (foreign(args=["--epochs", "3"]), (), ("--epochs", "3"), [()]),
    "a launcher": (
        foreign("horovodrun", "-np", "4", "python", "train.py"),
        ("horovodrun",), ("-np", "4", "python", "train.py"), [(0, 1, 2, 3)],
    ),
    "copies": (foreign("python", "train.py", replicas=2), ("python",), ("train.py",), [(), ()]),
    "a launcher over hosts": (
        foreign("torchrun", *MEETING, "train.py", replicas=2),
        ("torchrun",), (*MEETING, "train.py"), [(0, 1), (2, 3)],
    ),
    "hosts that nobody knows": (
        foreign("horovodrun", "-np", "4", "-H", "a:2,b:2", "python", "train.py", replicas=2),
        ("horovodrun",), ("-np", "4", "-H", "a:2,b:2", "python", "train.py"), [(), ()],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FOREIGN)
def test_a_document_from_elsewhere_runs_as_it_says(case: str) -> None:
    document, entrypoint, command, ranks = FOREIGN[case]
    containers = contract(document)
    assert [item.ranks for item in containers] == ranks
    for item in containers:
        assert item.command == command
        assert item.entrypoint == entrypoint
        assert (item.code, item.code_digest, item.gpus) == ("", "", 4)


def test_a_python_package_is_refused_with_the_other_way() -> None:
    document = foreign("true")
    pool = document["jobSpec"]["workerPoolSpecs"][0]
    del pool["containerSpec"]
    pool["pythonPackageSpec"] = {"executorImageUri": "x", "packageUris": [], "pythonModule": "m"}
    with refused("rehearsal-package", "launch local SCRIPT"):
        contract(document)


def test_pools_without_ranks_are_told_of_and_get_no_container() -> None:
    document = rendered(reduction_servers=3)
    assert len(contract(document)) == 2
    assert "workerpool2" in spec_of(contract(document)[0])["cluster"]
    (text,) = conduct(document).left_out
    assert text == "3 replicas of pool 2 (no ranks of the job) not rehearsed"
    assert conduct(rendered()).left_out == ()


def test_an_unused_pool_in_between_is_none() -> None:
    document = rendered(instances=1)
    document["jobSpec"]["workerPoolSpecs"].append({})
    assert len(contract(document)) == 1


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [("3600s", 3600), ("90.5s", 91), (None, 604_800), ("soon", 604_800)],
)
def test_the_job_is_stopped_at_its_timeout(timeout: str | None, seconds: int) -> None:
    document = rendered()
    document["jobSpec"]["scheduling"] = {"timeout": timeout} if timeout else {}
    assert conduct(document).max_runtime == seconds


def test_other_replicas_of_a_foreign_job_may_leave_early() -> None:
    assert conduct(rendered()).follow_within == 60.0
    assert conduct(foreign("true")).follow_within == math.inf
    assert conduct(rendered()).stop_grace == 30.0


def test_a_crash_that_counts_as_transient_is_tried_again_as_the_document_says() -> None:
    document = rendered()
    several = conduct(document)
    assert (several.retried_codes, several.retries) == ({6, 11, 134, 139}, 3)
    assert several.restarts == "the service would start the whole job again"
    document["jobSpec"]["scheduling"]["disableRetries"] = True
    assert (conduct(document).retried_codes, conduct(document).retries) == (set(), 0)
    assert conduct(foreign("true")).restarts == "the service would start it alone again"


def test_shares_are_channels_of_every_replica_which_a_folder_of_this_machine_stands_for() -> None:
    document = rendered(nfs_mounts={"data": "10.0.0.2:/exports/data"}, network_attachment="a")
    for pool in document["jobSpec"]["workerPoolSpecs"]:
        pool["lustreMounts"] = [
            {
                "instanceIp": "10.0.0.3",
                "filesystem": "fs",
                "mountPoint": "fast",
                "volumeHandle": "h",
            }
        ]
    for host in contract(document):
        assert [(one.name, one.path, one.uri) for one in host.channels] == [
            ("data", "/mnt/nfs/data", "nfs://10.0.0.2/exports/data"),
            ("fast", "/mnt/lustre/fast", "lustre://10.0.0.3/fs"),
        ]
