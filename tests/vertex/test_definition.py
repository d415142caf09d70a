"""The CustomJob that `launch vertex` renders: pools, environment, scheduling, and its identity."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from launchers.core.records import nonce
from launchers.core.records.entry import Entry
from launchers.core.records.naming import Run
from launchers.core.records.pushed_image import remember_pushed
from launchers.vertex.document import bootstrap, escaped, script_of, words_of
from launchers.vertex.launcher import VERTEX
from tests.cli.command import Launch
from tests.vertex.documents import (
    IMAGE,
    RESOLVED,
    planned,
    pools,
    prepared,
    rendered,
    through_the_client,
    variables,
)

# --- pools


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        ({"instances": 1}, ["1"]),
        ({"instances": 2}, ["1", "1"]),
        ({"instances": 5}, ["1", "4"]),
        ({"instances": 3, "reduction_servers": 2}, ["1", "2", "2"]),
        ({"instances": 1, "reduction_servers": 4}, ["1", None, "4"]),
    ],
)
def test_the_chief_is_alone_and_an_unused_pool_is_empty(asked: dict[str, Any], counts: list[Any]):
    found = pools(**asked)
    assert [pool.get("replicaCount") for pool in found] == counts
    assert [pool for pool in found if "replicaCount" not in pool] == [{}] * counts.count(None)


def test_all_hosts_are_alike_but_for_their_count():
    chief, workers = pools(instances=5, boot_disk="pd-ssd:200")
    assert {**chief, "replicaCount": ""} == {**workers, "replicaCount": ""}


def test_reduction_servers_have_googles_image_and_its_own_start():
    server = pools(reduction_servers=2)[2]
    assert server["machineSpec"] == {"machineType": "n1-highcpu-16"}
    image = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
    assert server["containerSpec"].keys() == {"imageUri", "env"}
    assert server["containerSpec"]["imageUri"] == image
    assert server["containerSpec"]["env"] == pools(reduction_servers=2)[0]["containerSpec"]["env"]
    other = pools(reduction_servers=2, reduction_server_machine="n1-highcpu-32")[2]
    assert other["machineSpec"] == {"machineType": "n1-highcpu-32"}


@pytest.mark.parametrize(
    ("asked", "machine"),
    [
        ({"gpus": 4}, ("g2-standard-48", "NVIDIA_L4", 4)),
        ({"gpus": 8}, ("g2-standard-96", "NVIDIA_L4", 8)),
        ({"gpus": 1}, ("g2-standard-12", "NVIDIA_L4", 1)),
        ({"gpus": 16}, ("a2-megagpu-16g", "NVIDIA_TESLA_A100", 16)),
        ({"gpus": None, "machine": "a2-ultragpu-4g"}, ("a2-ultragpu-4g", "NVIDIA_A100_80GB", 4)),
        (
            {"gpus": None, "machine": "n1-standard-16", "accelerator": "NVIDIA_TESLA_T4:4"},
            ("n1-standard-16", "NVIDIA_TESLA_T4", 4),
        ),
        (
            {"gpus": 4, "machine": "n1-standard-16", "accelerator": "NVIDIA_TESLA_T4"},
            ("n1-standard-16", "NVIDIA_TESLA_T4", 4),
        ),
        (
            {"gpus": None, "accelerator": "NVIDIA_TESLA_T4:4"},
            ("n1-standard-16", "NVIDIA_TESLA_T4", 4),
        ),
        (
            {"gpus": 4, "accelerator": "NVIDIA_TESLA_T4"},
            ("n1-standard-16", "NVIDIA_TESLA_T4", 4),
        ),
        (
            {"gpus": None, "accelerator": "NVIDIA_H100_80GB:8"},
            ("a3-highgpu-8g", "NVIDIA_H100_80GB", 8),
        ),
        (
            {"gpus": 4, "machine": "g2-standard-48", "accelerator": "NVIDIA_L4:4"},
            ("g2-standard-48", "NVIDIA_L4", 4),
        ),
        ({"gpus": 0, "processes": 6}, ("n1-standard-16", None, None)),
        (
            {"gpus": None, "machine": "c2-standard-60", "processes": 30},
            ("c2-standard-60",) + (None,) * 2,
        ),
    ],
)
def test_a_machine_has_the_gpus_that_were_asked_for(
    asked: dict[str, Any], machine: tuple[Any, ...]
):
    spec = pools(**asked)[0]["machineSpec"]
    keys = ("machineType", "acceleratorType", "acceleratorCount")
    assert tuple(spec.get(key) for key in keys) == machine


def test_the_ranks_disk_is_not_forced_upon_reduction_servers():
    *ranks, servers = pools(boot_disk="pd-ssd:200", reduction_servers=2)
    assert [pool["diskSpec"]["bootDiskSizeGb"] for pool in ranks] == [200, 200]
    assert "diskSpec" not in servers


@pytest.mark.parametrize(
    ("text", "disk"),
    [
        (None, None),
        ("pd-ssd:200", {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 200}),
        ("pd-standard:1TB", {"bootDiskType": "pd-standard", "bootDiskSizeGb": 1024}),
        ("500", {"bootDiskSizeGb": 500}),
    ],
)
def test_a_boot_disk_is_its_type_and_size(text: str | None, disk: dict[str, Any] | None):
    assert pools(boot_disk=text)[0].get("diskSpec") == disk


@pytest.mark.parametrize(
    ("reservation", "affinity"),
    [
        ("any", {"reservationAffinityType": "ANY_RESERVATION"}),
        (
            "projects/p/zones/us-central1-a/reservations/r",
            {
                "reservationAffinityType": "SPECIFIC_RESERVATION",
                "key": "compute.googleapis.com/reservation-name",
                "values": ["projects/p/zones/us-central1-a/reservations/r"],
            },
        ),
    ],
)
def test_a_reservation_is_for_the_hosts_of_ranks(reservation: str, affinity: dict[str, Any]):
    found = pools(reservations=(reservation,), reduction_servers=1)
    specs = [pool["machineSpec"].get("reservationAffinity") for pool in found]
    assert specs == [affinity, affinity, None]


# --- what every rank is told


def test_the_world_size_is_the_same_number_everywhere():
    made = prepared(instances=3, gpus=8)
    document = json.loads(made.definition.text)
    assert made.plan.world_size == made.definition.world_size == 24
    assert [variables(document, pool)["LAUNCH_WORLD_SIZE"] for pool in (0, 1)] == ["24", "24"]
    assert document["labels"]["launch-world-size"] == "24"
    assert any("world size 24" in row.text for row in made.plan.rows)


def test_ranks_of_a_machine_without_gpus_are_those_that_are_asked_for():
    document = rendered(gpus=0, processes=6)
    told = variables(document)
    assert (told["LAUNCH_WORLD_SIZE"], told["LAUNCH_PIN_GPU"]) == ("12", "none")


ARGUMENTS = ("--lr", "1.10", "--flag", "a b", "-v", "-v", "", "$(HOME)", "$$", 'q"\\\n', "é")


def test_script_and_arguments_travel_verbatim_and_without_what_the_service_expands():
    bundle, sha256, words = pools(arguments=ARGUMENTS, **RESOLVED)[0]["containerSpec"]["args"]
    assert json.loads(words) == words_of([bundle, sha256, words])
    assert json.loads(words) == ["train_image_classifier.py", *ARGUMENTS]
    assert words.isascii()
    assert "$" not in words
    assert bundle == f"/gcs/my-bucket/launch/code/{sha256}/sourcedir.tar.gz"
    assert re.fullmatch("[0-9a-f]{64}", sha256)


def test_a_replica_starts_the_bootstrap():
    document = rendered()
    container = document["jobSpec"]["workerPoolSpecs"][1]["containerSpec"]
    assert container["command"] == ["python3", "-c", bootstrap()]
    # The service expands $(NAME) in a command as well.
    assert "$(" not in bootstrap()
    assert script_of(document) == "train_image_classifier.py"
    assert VERTEX.contract.is_guarded(prepared().definition)


@pytest.mark.parametrize(
    "value", ["$(HOME)", "$$(HOME)", "$$$(HOME)", "a$b", "$", "$$", "cost $5 (net)", "($)", "$()"]
)
def test_a_value_reaches_the_ranks_as_it_is(value: str):
    sent = variables(rendered(environment={"A": value}))["A"]
    assert sent == escaped(value)
    # What a replica gets of it: of two signs ahead of a parenthesis the service leaves one.
    assert re.sub(r"\$+(?=\()", lambda run: "$" * ((len(run[0]) + 1) // 2), sent) == value
    # A reader that knows no escape for a sign without a parenthesis leaves it alone, too.
    assert ("$(" in value) or sent == value


def test_the_same_variables_are_in_every_pool():
    document = rendered(environment={"A": "1"}, reduction_servers=1)
    assert variables(document, 0) == variables(document, 1) == variables(document, 2)


def test_secrets_travel_by_reference():
    reference = "projects/my-project/secrets/token/versions/latest"
    made = prepared(secrets={"TOKEN": reference})
    told = variables(json.loads(made.definition.text))
    assert json.loads(told["LAUNCH_SECRETS"]) == {"TOKEN": reference}
    assert any((row.label, row.text) == ("secrets", "TOKEN") for row in made.plan.rows)


@pytest.mark.parametrize("place", ["gs://my-bucket/ckpt/a", "/gcs/my-bucket/ckpt/a"])
def test_checkpoints_lie_in_the_bucket_and_are_seen_below_the_mount(place: str):
    made = prepared(checkpoint=place)
    told = variables(json.loads(made.definition.text))
    assert told["LAUNCH_CHECKPOINT_DIR"] == "/gcs/my-bucket/ckpt/a"
    assert made.plan.checkpoints == "gs://my-bucket/ckpt/a"


def test_a_run_that_goes_on_keeps_the_checkpoints_of_the_last():
    kept = "gs://my-bucket/launch/checkpoints/train-00000000-1"
    before = Entry("train-00000000-1", "vertex", "train-00000000", 1, 8, "{}", checkpoint=kept)
    plan = planned(**RESOLVED).with_run(Run("train-00000000", 2, inherited=before))
    assert plan.environment["LAUNCH_CHECKPOINT_DIR"] == kept.replace("gs://", "/gcs/")


# --- scheduling and the rest of the job


@pytest.mark.parametrize(
    ("asked", "scheduling"),
    [
        ({"instances": 1}, {"timeout": "86400s"}),
        ({}, {"timeout": "86400s", "restartJobOnWorkerRestart": True}),
        ({"disable_retries": True}, {"timeout": "86400s", "disableRetries": True}),
        ({"instances": 1, "spot": True}, {"timeout": "86400s", "strategy": "SPOT"}),
        (
            {"instances": 1, "flex_start": True, "max_wait": 7200, "max_runtime": 3600},
            {"timeout": "3600s", "strategy": "FLEX_START", "maxWaitDuration": "7200s"},
        ),
    ],
)
def test_scheduling_is_what_the_flags_say(asked: dict[str, Any], scheduling: dict[str, Any]):
    assert rendered(**asked)["jobSpec"]["scheduling"] == scheduling


def test_a_restart_of_the_whole_job_is_shown():
    def shown(**asked: Any) -> str:
        return next((row.text for row in prepared(**asked).plan.rows if row.label == "restart"), "")

    assert "whole job" in shown()
    assert shown(disable_retries=True) == "never"
    assert shown(instances=1) == ""


FULL: dict[str, Any] = {
    **RESOLVED,
    "instances": 3,
    "gpus": None,
    "machine": "n1-standard-16",
    "accelerator": "NVIDIA_TESLA_T4:4",
    "reduction_servers": 2,
    "service_account": "trainer@my-project.iam.gserviceaccount.com",
    "network": "projects/123456/global/networks/default",
    "reserved_ip_ranges": ("range-a", "range-b"),
    "reservations": ("any",),
    "encryption_key": "projects/my-project/locations/us-central1/keyRings/r/cryptoKeys/k",
    "boot_disk": "pd-ssd:200",
    "reduction_server_disk": "300",
    "nfs_mounts": {"data": "10.0.0.2:/exports/data"},
    "web_access": True,
    "dashboard_access": True,
    "experiment": "my-experiment",
    "experiment_run": "first",
    "tensorboard": "projects/my-project/locations/us-central1/tensorboards/7",
    "tags": {"team": "vision"},
    "environment": {"A": "$(B)", "C": 'é"\n'},
    "arguments": ARGUMENTS,
    "disable_retries": True,
}


def test_every_option_has_its_field():
    document = rendered(**FULL)
    spec = document["jobSpec"]
    assert spec["serviceAccount"] == FULL["service_account"]
    assert spec["network"] == FULL["network"]
    assert spec["reservedIpRanges"] == ["range-a", "range-b"]
    assert spec["enableWebAccess"] is True
    assert spec["tensorboard"] == FULL["tensorboard"]
    assert spec["enableDashboardAccess"] is True
    context = "projects/my-project/locations/us-central1/metadataStores/default/contexts"
    assert spec["experiment"] == f"{context}/my-experiment"
    assert spec["experimentRun"] == f"{context}/my-experiment-first"
    mount = {"server": "10.0.0.2", "path": "/exports/data", "mountPoint": "data"}
    pools = spec["workerPoolSpecs"]
    assert [pool.get("nfsMounts") for pool in pools] == [[mount], [mount], None]
    disk = {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 200}
    assert [pool["diskSpec"] for pool in pools] == [disk, disk, {"bootDiskSizeGb": 300}]
    assert document["encryptionSpec"] == {"kmsKeyName": FULL["encryption_key"]}
    assert document["labels"]["team"] == "vision"
    other = rendered(network_attachment="my-attachment", persistent_resource="my-machines")
    assert other["jobSpec"]["pscInterfaceConfig"] == {"networkAttachment": "my-attachment"}
    assert other["jobSpec"]["persistentResourceId"] == "my-machines"


SHOWN = {
    "reservation": "any",
    "network": "projects/123456/global/networks/default, range-a, range-b",
    "key": FULL["encryption_key"],
    "web access": "shells in the replicas",
    "dashboards": "of the replicas",
    "TensorBoard": FULL["tensorboard"],
    "experiment": "projects/my-project/locations/us-central1/metadataStores/default/contexts/"
    "my-experiment",
    "NFS": "10.0.0.2:/exports/data at /mnt/nfs/data",
    "labels": "team=vision",
}


def test_the_plan_shows_what_costs_money_or_opens_access():
    rows = {row.label: row.text for row in prepared(**FULL).plan.rows}
    assert {label: rows.get(label) for label in SHOWN} == SHOWN
    other = prepared(network_attachment="a", persistent_resource="mine", experiment="e").plan.rows
    assert {"machines": "mine", "network": "a"}.items() <= {
        row.label: row.text for row in other
    }.items()


def test_an_experiment_in_another_project_or_location_is_the_same_job():
    asked: dict[str, Any] = {"experiment": "e", "service_account": FULL["service_account"]}
    places = [
        {"project": "my-project", "region": "us-central1"},
        {"project": "another", "region": "europe-west4"},
    ]
    digests = {prepared(**asked, **place).run.digest for place in places}
    assert len(digests) == 1
    assert digests != {prepared(experiment="f").run.digest}


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"instances": 1, "reduction_servers": 1},
        FULL,
        {"flex_start": True, "max_wait": 60},
        {"spot": True, "network_attachment": "a", "persistent_resource": "b"},
        {"gpus": 0, "processes": 2},
        {"reservations": ("projects/p/zones/us-central1-a/reservations/r",)},
    ],
    ids=["plain", "unused pool", "full", "flex", "spot", "cpu", "reservation"],
)
def test_the_official_client_reads_it_and_writes_the_same(asked: dict[str, Any]):
    text = prepared(**asked).definition.text
    assert through_the_client(text) == json.loads(text)


# --- name, identity, placeholders


def test_a_job_is_found_again_by_labels_that_any_name_allows():
    made = prepared(name="My-Job")
    document = json.loads(made.definition.text)
    match = re.fullmatch("My-Job-([0-9a-f]{8})-1", document["displayName"])
    assert match
    assert document["labels"]["launch-digest"] == match[1]
    assert document["labels"]["launch-run"] == "1"
    for key, value in document["labels"].items():
        assert re.fullmatch("[a-z][a-z0-9_-]{0,63}", key)
        assert re.fullmatch("[a-z0-9_-]{0,64}", value)


def test_placeholders_are_listed_and_a_filled_request_has_none():
    listed = prepared().definition.placeholders
    assert [item.value for item in listed] == [
        "placeholder-project",
        "placeholder-bucket",
        "us-docker.pkg.dev/placeholder-project/placeholder/launch-horovod:placeholder",
        "us-central1",
        nonce.PLACEHOLDER,
    ]
    listed = prepared(**RESOLVED).definition.placeholders
    assert [item.value for item in listed] == [nonce.PLACEHOLDER]
    filled = nonce.filled(prepared(**RESOLVED).definition, nonce.new_nonce())
    assert filled.placeholders == ()
    assert "placeholder" not in filled.text.lower()
    place = {"location": "us-central1", "region": "us-central1"}
    assert filled.destination == {"project": "my-project", **place}


def test_project_and_location_stand_in_the_address_alone():
    text = prepared(**{**RESOLVED, "project": "another-one", "region": "europe-west4"}).definition
    assert "another-one" not in text.text
    assert "europe-west4" not in text.text


SAME = [
    {"name": "other"},
    {"bucket": "mine"},
    {"project": "another-one"},
    {"region": "europe-west4"},
    {"service_account": "a@my-project.iam.gserviceaccount.com"},
    {"output_path": "gs://elsewhere/out"},
    {"checkpoint": "gs://elsewhere/ckpt"},
]
OTHER = [
    {"instances": 3},
    {"arguments": ("--a",)},
    {"environment": {"A": "b"}},
    {"max_runtime": 60},
    {"tags": {"a": "b"}},
    {"image": "us-docker.pkg.dev/p/r/other:1"},
    {"spot": True},
    {"boot_disk": "pd-ssd:200"},
    {"reduction_servers": 1},
    {"secrets": {"A": "projects/my-project/secrets/a/versions/1"}},
]


def digest(**asked: Any) -> str:
    return prepared(**{**RESOLVED, **asked}).definition.name.split("-")[-2]


@pytest.mark.parametrize("change", SAME, ids=lambda change: next(iter(change)))
def test_what_is_only_of_the_account_is_no_part_of_the_digest(change: dict[str, Any]):
    assert digest(**change) == digest()


def test_neither_run_nor_kept_checkpoints_are_part_of_the_digest():
    definer, plan = VERTEX.definer, planned(**RESOLVED)
    before = Entry(
        "train-00000000-3", "vertex", "train-00000000", 3, 8, "{}", checkpoint="gs://b/c"
    )
    named = plan.with_run(Run("train-00000000", 4, inherited=before))
    assert definer.render(named).document["labels"]["launch-run"] == "4"
    assert definer.identity(definer.render(named)) == definer.identity(definer.render(plan))


@pytest.mark.parametrize("change", OTHER, ids=lambda change: next(iter(change)))
def test_all_else_is(change: dict[str, Any]):
    assert digest(**change) != digest()


def test_planning_changes_neither_the_job_nor_the_disk(no_account: Path):
    before = sorted(no_account.rglob("*"))
    first, second = prepared(**FULL), prepared(**FULL)
    assert first.definition.text == second.definition.text
    assert sorted(no_account.rglob("*")) == before


# --- the image


def test_what_was_pushed_last_is_the_default_and_is_named():
    remember_pushed(f"us-docker.pkg.dev/p/r/h@sha256:{'0' * 64}", "us-docker.pkg.dev/p/r/h:1")
    made = prepared()
    image = f"us-docker.pkg.dev/p/r/h@sha256:{'0' * 64}"
    assert pools()[0]["containerSpec"]["imageUri"] == image
    (row,) = [row for row in made.plan.rows if row.label == "image"]
    assert (row.text, "--push" in row.origin) == (image, True)
    assert pools(image=IMAGE)[0]["containerSpec"]["imageUri"] == IMAGE


@pytest.mark.parametrize("registry", ["1.dkr.ecr.us-east-1.amazonaws.com", "localhost:5000"])
def test_an_image_that_the_service_cannot_read_is_no_default(registry: str):
    remember_pushed(f"{registry}/h@sha256:{'0' * 64}", "x")
    assert "placeholder" in pools()[0]["containerSpec"]["imageUri"]


def test_a_submission_without_an_image_ends_with_2_and_the_line_that_makes_one(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    words = ("vertex", "train.py", "--gpus", "4", "--project", "my-project")
    answer = launch(*words, "--location", "us-central1")
    assert answer.code == 2
    line = "launch image build --push us-central1-docker.pkg.dev/my-project/REPO/launch-horovod"
    assert line in answer.err
    assert launch("list").err.startswith("no jobs yet")


# --- the command


def test_the_same_request_comes_from_another_folder_time_zone_and_hash_seed(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    words = ("vertex", "train.py", "--gpus", "4", "--env", "B=1", "--env", "A=2", "--dry-run")
    first = launch(*words)
    assert first.code == 0, first.err
    other = Launch(launch.home, launch.folder.parent / "elsewhere")
    other.write("train.py", "import horovod.tensorflow as hvd\n")
    second = other(*words, TZ="Pacific/Auckland", PYTHONHASHSEED="5", LANG="C")
    assert second.out == first.out


# Runs a command in a Python that then says what of the clouds' clients it has loaded.
LOADED = """
import sys
before = set(sys.modules)  # Google's packages make their common folders known at Python's start
from launchers.cli import main
code = main.run(sys.argv[1:])
clients = ("google.", "boto3", "botocore", "sagemaker", "requests", "grpc")
print("loaded:", [name for name in set(sys.modules) - before if name.startswith(clients)])
sys.exit(code)
"""


def test_a_dry_run_loads_no_cloud_client(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    done = subprocess.run(
        [sys.executable, "-c", LOADED, "vertex", "train.py", "--gpus", "4", "--dry-run"],
        cwd=launch.folder,
        env=launch.environment({}),
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_the_document_is_what_json_and_yaml_say_alike_and_check_accepts_both(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    words = ("vertex", "train.py", "--gpus", "4", "--image", IMAGE, "--dry-run")
    for form in ("json", "yaml"):
        answer = launch(*words, "--format", form)
        launch.write(f"job.{form}", answer.out)
        checked = launch("check", f"job.{form}", "--world-size", "4", "--json")
        found = (checked.code, checked.json["provider"], checked.json["ok"])
        assert found == (0, "vertex", True), checked.out
        assert checked.json["world_size"] == 4


def test_machines_are_shown(launch: Launch):
    rows = launch("machines", "--provider", "vertex", "--gpus", "4", "--json").json
    assert rows[0]["machine"] == "g2-standard-48"
    assert launch("machines", "--provider", "vertex").code == 0
