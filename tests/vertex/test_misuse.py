"""What a hurried person gets wrong on `launch vertex`: each a clear problem, all told at once."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from launchers.core.model.problems import LaunchError, Problem, errors
from tests.cli.command import Launch
from tests.vertex.documents import prepared

N1 = {"gpus": None, "machine": "n1-standard-16"}
FOUR = "machines with 4 GPUs: g2-standard-48"

# What was asked for, the path of the problem, and what the message says besides.
MISUSES: list[tuple[str, dict[str, Any], str, str]] = [
    ("no machine at all", {"gpus": None}, "--gpus", "--gpus 4"),
    ("a count that no machine has", {"gpus": 3}, "--gpus", "0, 1, 2, 4, 8, 16"),
    ("no such machine", {"machine": "g2-standart-48"}, "--machine", "g2-standard-48?"),
    ("a machine of another cloud", {"machine": "ml.g5.12xlarge"}, "--machine", "--provider vertex"),
    (
        "a machine with other GPUs",
        {"gpus": 8, "machine": "a2-highgpu-4g"},
        "--machine",
        "machines with 8 GPUs: g2-standard-96, a2-highgpu-8g",
    ),
    ("a machine without any", {"machine": "n2-standard-8"}, "--machine", FOUR),
    ("T4 by its short name", {**N1, "accelerator": "T4:4"}, "--accelerator", "NVIDIA_TESLA_T4:4?"),
    ("L4 in small letters", {**N1, "accelerator": "nvidia-l4:4"}, "--accelerator", "NVIDIA_L4:4?"),
    ("H100", {**N1, "accelerator": "H100:8"}, "--accelerator", "NVIDIA_H100_80GB:8?"),
    ("no count", {**N1, "accelerator": "NVIDIA_TESLA_T4"}, "--accelerator", "NVIDIA_TESLA_T4:4"),
    ("no number", {**N1, "accelerator": "NVIDIA_TESLA_T4:x"}, "--accelerator", "TYPE:N"),
    ("none of them", {**N1, "accelerator": "NVIDIA_TESLA_T4:0"}, "--accelerator", "TYPE:N"),
    ("3 T4", {**N1, "accelerator": "NVIDIA_TESLA_T4:3"}, "--accelerator", "NVIDIA_TESLA_T4:1,2,4"),
    (
        "8 T4",
        {"gpus": 8, "machine": "n1-standard-16", "accelerator": "NVIDIA_TESLA_T4"},
        "--accelerator",
        "NVIDIA_TESLA_V100:2,4,8",
    ),
    (
        "accelerators on a machine that takes none",
        {"machine": "e2-standard-8", "accelerator": "NVIDIA_TESLA_T4:4"},
        "--accelerator",
        "n1-standard-16",
    ),
    (
        "other accelerators than the machine's own",
        {"machine": "g2-standard-48", "accelerator": "NVIDIA_TESLA_T4:4"},
        "--accelerator",
        "NVIDIA_L4:4, which is part of it",
    ),
    ("T4 as others write it", {"accelerator": "4xT4"}, "--accelerator", "NVIDIA_TESLA_T4:4?"),
    (
        "T4 as gcloud writes it",
        {"accelerator": "type=nvidia-tesla-t4,count=4"},
        "--accelerator",
        "NVIDIA_TESLA_T4:4?",
    ),
    ("the count first", {"accelerator": "4:NVIDIA_L4"}, "--accelerator", "NVIDIA_L4:4?"),
    ("no such accelerator", {"accelerator": "M60:4"}, "--accelerator", "one of NVIDIA_TESLA_V100"),
    (
        "3 T4 and no machine",
        {"gpus": None, "accelerator": "NVIDIA_TESLA_T4:3"},
        "--accelerator",
        "by 1, 2, 4",
    ),
    (
        "GPUs on n1 without their type",
        {"machine": "n1-standard-16"},
        "--accelerator",
        "--accelerator NVIDIA_TESLA_T4:4",
    ),
    (
        "two counts",
        {"machine": "n1-standard-16", "accelerator": "NVIDIA_TESLA_T4:2"},
        "--accelerator",
        "together with --gpus 4",
    ),
    ("K80", {**N1, "accelerator": "NVIDIA_TESLA_K80:4"}, "--accelerator", "NVIDIA_TESLA_T4:4"),
    (
        "8 K80",
        {**N1, "accelerator": "NVIDIA_TESLA_K80:8"},
        "--accelerator",
        "there is NVIDIA_TESLA_T4 by 1, 2, 4",
    ),
    (
        "no GPU and some",
        {"gpus": 0, "accelerator": "NVIDIA_TESLA_T4:4"},
        "--accelerator",
        "--gpus 4, or no --accelerator",
    ),
    ("a TPU", {**N1, "accelerator": "TPU_V2:8"}, "--accelerator", "Horovod cannot use a TPU"),
    ("more ranks than GPUs", {"processes": 8}, "--processes", "--processes 4"),
    (
        "an A3 on demand",
        {"gpus": None, "machine": "a3-highgpu-4g"},
        "$.jobSpec.scheduling",
        "--flex-start",
    ),
    (
        "T4 by flex-start",
        {**N1, "accelerator": "NVIDIA_TESLA_T4:4", "flex_start": True},
        "$.jobSpec.workerPoolSpecs",
        "FLEX_START",
    ),
    ("a bucket of S3", {"bucket": "s3://b"}, "--bucket", "gs://BUCKET"),
    ("a folder as bucket", {"bucket": "gs://bucket/x"}, "--bucket", "--bucket gs://bucket;"),
    ("flex-start and spot", {"flex_start": True, "spot": True}, "--flex-start", "one of the two"),
    ("a wait without a queue", {"max_wait": 60}, "--max-wait", "--flex-start"),
    ("an image without a tag", {"image": "us-docker.pkg.dev/p/r/h"}, "--image", "h:TAG"),
    ("Amazon's image", {"image": "1.dkr.ecr.eu-west-1.amazonaws.com/h:1"}, "--image", "Amazon"),
    ("an image with a blank", {"image": "us-docker.pkg.dev/p r/h:1"}, "--image", "HOST/PATH:TAG"),
    ("a project's number", {"project": "123456789"}, "--project", "projectId"),
    ("a project's name", {"project": "My-Project"}, "--project", "--project my-project"),
    ("a zone", {"region": "us-central1-a"}, "--location", "--location us-central1"),
    ("no location", {"region": "global"}, "--location", "us-central1"),
    ("a location misspelt", {"region": "us-centrall"}, "--location", "us-central1?"),
    ("a location of no cloud", {"region": "mars-north1"}, "--location", "such as us-central1"),
    ("one of another cloud", {"region": "us-east-1"}, "--location", "us-east1?"),
    ("one slash too few", {"bucket": "gs:/my-bucket"}, "--bucket", "--bucket gs://my-bucket"),
    ("a bucket in capitals", {"bucket": "My-Bucket"}, "--bucket", "lower case"),
    ("a disk's size first", {"boot_disk": "200:pd-ssd"}, "--boot-disk", "--boot-disk pd-ssd:200"),
    ("ranges of no network", {"reserved_ip_ranges": ("a",)}, "$.jobSpec.reserved", "--network"),
    (
        "a short reservation",
        {"reservations": ("mine",)},
        "$.jobSpec.worker",
        "ZONE/reservations/mine",
    ),
    ("any and one", {"reservations": ("any", "x")}, "--reservation", "any, or the names"),
    (
        "a small disk of servers",
        {"reduction_servers": 2, "reduction_server_disk": "50"},
        "--reduction-server-disk",
        "--reduction-server-disk pd-ssd:100",
    ),
    (
        "a disk of no servers",
        {"reduction_server_disk": "200"},
        "--reduction-server-disk",
        "--reduction-servers N",
    ),
    ("a run of no experiment", {"experiment_run": "r"}, "--experiment-run", "--experiment NAME"),
    ("an experiment in capitals", {"experiment": "My Runs"}, "--experiment", "lower case"),
    (
        "an experiment elsewhere",
        {"experiment": "projects/p/experiments/x"},
        "$.jobSpec.experiment",
        "metadataStores",
    ),
    (
        "a share without a network",
        {"nfs_mounts": {"data": "10.0.0.2:/x"}},
        "$.jobSpec.workerPoolSpecs[0].nfsMounts",
        "--network or --network-attachment",
    ),
    (
        "a persistent resource's full name",
        {"persistent_resource": "projects/p/locations/l/persistentResources/mine"},
        "$.jobSpec.persistentResourceId",
        "write mine",
    ),
    (
        "flex-start with reduction servers",
        {"flex_start": True, "reduction_servers": 2},
        "$.jobSpec.workerPoolSpecs[2]",
        "no reduction servers",
    ),
    ("a small disk", {"boot_disk": "50"}, "--boot-disk", "pd-ssd:100"),
    ("a huge disk", {"boot_disk": "pd-ssd:65TB"}, "--boot-disk", "64000 GB"),
    ("no such disk", {"boot_disk": "pd-sdd:200"}, "--boot-disk", "pd-ssd?"),
    ("no size", {"boot_disk": "pd-ssd"}, "--boot-disk", "TYPE:GB"),
    ("two networks", {"network": "a", "network_attachment": "b"}, "--network-attachment", "--net"),
    ("a value as secret", {"secrets": {"A": "hunter2"}}, "--secret A", "projects/PROJECT/secrets"),
    (
        "another cloud's secret",
        {"secrets": {"A": "arn:aws:secretsmanager:us-east-1:111122223333:secret:x"}},
        "--secret A",
        "versions/VERSION",
    ),
    (
        "a secret that is a variable, too",
        {
            "secrets": {"A": "projects/p/secrets/s/versions/1"},
            "environment": {"A": "hunter2"},
        },
        "--secret A",
        "--env A sets",
    ),
    (
        "a secret with our name",
        {"secrets": {"LAUNCH_JOB": "projects/p/secrets/s/versions/1"}},
        "--secret LAUNCH_JOB",
        "a name that the launcher sets",
    ),
    ("a TPU's machine", {"gpus": None, "machine": "ct5lp-hightpu-4t"}, "--machine", "a TPU"),
    (
        "a key's version",
        {
            "encryption_key": "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k/"
            "cryptoKeyVersions/1"
        },
        "$.encryptionSpec.kmsKeyName",
        "without its version: projects/p/locations/us-central1/keyRings/r/cryptoKeys/k",
    ),
    ("a network's name alone", {"network": "default"}, "$.jobSpec.network", "project's number"),
    (
        "a network by the project's ID",
        {"network": "projects/my-project/global/networks/default"},
        "$.jobSpec.network",
        "gcloud projects describe my-project",
    ),
    ("our label", {"tags": {"launch-run": "7"}}, "--tag launch-run", "your own"),
    ("a label in capitals", {"tags": {"Team": "x"}}, "$.labels", "without capitals"),
    ("a label with a blank", {"tags": {"team": "a b"}}, "$.labels.team", "write a-b"),
    ("checkpoints on S3", {"checkpoint": "s3://b/c"}, "--checkpoint", "gs://BUCKET/FOLDER"),
    ("output in a folder here", {"output_path": "./out"}, "--output-path", "gs://BUCKET/FOLDER"),
    (
        "a variable of ours",
        {"environment": {"LAUNCH_JOB": "x"}},
        "--env LAUNCH_JOB",
        "another name",
    ),
    (
        "the service's own variable",
        {"environment": {"CLUSTER_SPEC": "{}"}},
        "$.jobSpec.workerPoolSpecs[0].containerSpec.env.CLUSTER_SPEC",
        "the service sets",
    ),
    (
        "a reservation with spot",
        {"reservations": ("any",), "spot": True},
        "$.jobSpec.workerPoolSpecs[0].machineSpec.reservationAffinity",
        "one of the two",
    ),
    (
        "a persistent resource with spot",
        {"persistent_resource": "mine", "spot": True},
        "$.jobSpec.scheduling.strategy",
        "already",
    ),
    (
        "a persistent resource with a reservation",
        {"persistent_resource": "mine", "reservations": ("any",)},
        "$.jobSpec.workerPoolSpecs[0].machineSpec.reservationAffinity",
        "--persistent-resource or --reservation",
    ),
    ("a password", {"arguments": ("--password", "hunter2hunter2")}, "--", "--secret PASSWORD"),
    ("no such script", {"script": "nosuch.py"}, "SCRIPT", "Python file"),
    (
        "machines for no reduction server",
        {"reduction_server_machine": "n1-highcpu-16"},
        "--reduction-server-machine",
        "--reduction-servers N",
    ),
]


def problems_of(**asked: Any) -> list[Problem]:
    try:
        return list(prepared(**asked).problems)
    except LaunchError as error:
        return list(error.problems)


@cache
def problems_of_misuse(name: str) -> list[Problem]:
    """Those of one of MISUSES."""
    return problems_of(**next(asked for one, asked, _, _ in MISUSES if one == name))


# Of each misuse the rules that it breaks; none where it breaks none.
BROKEN = {
    "no machine at all": "gpus-missing",
    "a count that no machine has": "machine-gpus",
    "no such machine": "machine-unknown",
    "a machine of another cloud": "machine-unknown",
    "a machine with other GPUs": "machine-gpus",
    "a machine without any": "machine-gpus",
    "T4 by its short name": "accelerator-text",
    "L4 in small letters": "accelerator-machine accelerator-text",
    "H100": "accelerator-machine accelerator-text",
    "no count": "accelerator-text",
    "no number": "accelerator-text",
    "none of them": "accelerator-text",
    "3 T4": "accelerator-machine",
    "8 T4": "accelerator-machine",
    "accelerators on a machine that takes none": "accelerator-machine",
    "other accelerators than the machine's own": "accelerator-machine",
    "T4 as others write it": "accelerator-text",
    "T4 as gcloud writes it": "accelerator-text",
    "the count first": "accelerator-text",
    "no such accelerator": "accelerator-text",
    "3 T4 and no machine": "accelerator-text",
    "GPUs on n1 without their type": "accelerator-machine",
    "two counts": "accelerator-text",
    "K80": "accelerator-text",
    "8 K80": "accelerator-text",
    "no GPU and some": "accelerator-text",
    "a TPU": "accelerator-text",
    "more ranks than GPUs": "ranks-above-gpus",
    "an A3 on demand": "strategy-machine",
    "T4 by flex-start": "flex-start",
    "a bucket of S3": "bucket-address",
    "a folder as bucket": "bucket-address",
    "flex-start and spot": "spot-flex-start",
    "a wait without a queue": "max-wait",
    "an image without a tag": "image-address",
    "Amazon's image": "image-address",
    "an image with a blank": "image-address",
    "a project's number": "project-id",
    "a project's name": "project-id",
    "a zone": "location",
    "no location": "location",
    "a location misspelt": "location",
    "a location of no cloud": "location",
    "one of another cloud": "location",
    "one slash too few": "bucket-address",
    "a bucket in capitals": "bucket-address",
    "a disk's size first": "boot-disk",
    "ranges of no network": "reserved-ip",
    "a short reservation": "reservation",
    "any and one": "reservation",
    "a small disk of servers": "boot-disk",
    "a disk of no servers": "reduction-servers",
    "a run of no experiment": "experiment",
    "an experiment in capitals": "experiment resource-address",
    "an experiment elsewhere": "resource-address",
    "a share without a network": "mount-network",
    "a persistent resource's full name": "resource-address",
    "flex-start with reduction servers": "flex-start",
    "a small disk": "boot-disk",
    "a huge disk": "boot-disk",
    "no such disk": "boot-disk",
    "no size": "boot-disk",
    "two networks": "network-twice",
    "a value as secret": "secret-reference",
    "another cloud's secret": "secret-reference",
    "a secret that is a variable, too": "secret-twice",
    "a secret with our name": "env-reserved",
    "a TPU's machine": "machine-unknown",
    "a key's version": "resource-address",
    "a network's name alone": "resource-address",
    "a network by the project's ID": "resource-address",
    "our label": "label-reserved",
    "a label in capitals": "label-text",
    "a label with a blank": "label-text",
    "checkpoints on S3": "bucket-folder",
    "output in a folder here": "bucket-folder",
    "a variable of ours": "env-reserved",
    "the service's own variable": "env-reserved",
    "a reservation with spot": "reservation-strategy",
    "a persistent resource with spot": "persistent-strategy",
    "a persistent resource with a reservation": "persistent-reservation",
    "a password": "credential",
    "no such script": "script-missing source-credential",
    "machines for no reduction server": "reduction-servers",
}


@pytest.mark.parametrize(
    ("name", "path", "part"),
    [(name, path, part) for name, _, path, part in MISUSES],
    ids=[case[0] for case in MISUSES],
)
def test_a_misuse_is_a_clear_problem(name: str, path: str, part: str):
    found = errors(problems_of_misuse(name))
    assert sorted({one.rule for one in found}) == BROKEN[name].split()
    assert [one for one in found if one.path.startswith(path) and part in str(one)], found
    assert all(one.found and one.expected for one in found)
    assert "hunter2" not in "".join(map(str, found))


def test_what_lies_elsewhere_is_told_beside_a_wrong_flag():
    key = "projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k"
    found = errors(problems_of(project="12", encryption_key=key))
    assert [one.path for one in found] == ["--project", "$.encryptionSpec.kmsKeyName"]
    found = errors(problems_of(region="us-central9", encryption_key=key))
    assert [one.path for one in found] == ["--location"]


@pytest.mark.parametrize(
    ("name", "asked"), [case[:2] for case in MISUSES], ids=[case[0] for case in MISUSES]
)
def test_a_mistake_elsewhere_is_told_beside_it_and_none_twice(name: str, asked: dict[str, Any]):
    """Of a wrong flag nothing follows in the document that a person would have to read as well."""
    alone = {str(one) for one in errors(problems_of_misuse(name))}
    tags = {**asked.get("tags", {}), "Other": "x"}
    beside = {str(one) for one in errors(problems_of(**{**asked, "tags": tags}))}
    assert {text.partition(":")[0] for text in beside - alone} == {"$.labels.Other"}
    assert alone <= beside
    if any(text.startswith("-") for text in alone):
        assert len(alone) <= 2


def test_reduction_servers_for_one_host_are_a_warning():
    (found,) = [one for one in problems_of(instances=1, reduction_servers=1) if one.path[0] == "-"]
    assert (found.path, found.severity) == ("--reduction-servers", "warning")


def test_what_was_probably_meant_is_checked_as_well():
    found = errors(problems_of(**{**N1, "accelerator": "T4:3"}))
    assert [one.fix for one in found if one.path == "--accelerator"] == [
        "did you mean NVIDIA_TESLA_T4:3?",
        "there is NVIDIA_TESLA_T4 by 1, 2, 4",
    ]


def test_all_mistakes_of_a_line_are_told_at_once(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    answer = launch(
        "vertex",
        "train.py",
        "--dry-run",
        *("--project", "12", "--location", "us-central1-a", "--bucket", "s3://x"),
        *("--image", "foo", "--machine", "a2-highgpu-4g", "--gpus", "8", "--flex-start", "--spot"),
        *("--boot-disk", "50", "--tag", "launch-a=1", "--secret", "A=b"),
        *("--tag", "Team=x", "--network", "default", "--service-account", "me", "--env", "A=1"),
    )
    told = [line.split(": ")[1] for line in answer.err.splitlines() if line.startswith("error: -")]
    assert sorted(told) == [
        "--boot-disk",
        "--bucket",
        "--flex-start",
        "--image",
        "--location",
        "--machine",
        "--project",
        "--secret A",
        "--secret A",
        "--tag launch-a",
    ]
    for path in ("$.labels.Team", "$.jobSpec.network", "$.jobSpec.serviceAccount"):
        assert f"error: {path}: " in answer.err
    assert (answer.code, answer.out) == (2, "")


def test_a_label_that_looks_like_a_credential_is_not_shown():
    token = "ghp_" + "0123456789abcdefghij" + "ABCDEFGHIJ012345"
    found = problems_of(tags={"token": token})
    assert errors(found)
    assert "0123456789abcdefghij" not in "".join(map(str, found)).lower()


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("--machine-type=g2-standard-48", "--machine"),
        ("--zone=us-central1-a", "--location"),
        ("--replica-count=2", "--instances"),
        ("--preemptible", "--spot"),
    ],
)
def test_a_flag_of_gcloud_is_named_beside_the_scripts_own(launch: Launch, word: str, ours: str):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    answer = launch("vertex", "train.py", "--gpus", "4", word, "--dry-run")
    flag = word.partition("=")[0]
    assert answer.code == 2
    assert "[arguments-without-separator]" in answer.err
    assert f"{flag} is {ours} here; if it is the script's, write: launch vertex" in answer.err
    assert answer.err.rstrip().endswith(f"--dry-run -- {word}")


def test_a_flag_of_another_cloud_is_no_flag_here(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    answer = launch("vertex", "train.py", "--gpus", "4", "--role", "arn:aws:x", "--dry-run")
    assert answer.code == 2
    assert "--role is an option of `launch sagemaker` alone: leave it out" in answer.err
    here = launch("local", "train.py", "--spot", "--dry-run")
    assert here.code == 2
    assert "--spot is an option of `launch sagemaker` and `launch vertex` alone" in here.err
    assert here.err.rstrip().endswith("write: launch local train.py --dry-run -- --spot")
