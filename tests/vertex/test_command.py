"""`launch vertex` and its neighbours as they are typed: launch.yaml, sweeps, documents of gcloud
and Terraform, and a dry run that needs neither network nor account nor Google's packages."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import yaml

from launchers.core.reading.job_file import schema
from launchers.core.spec.option import default_of, key_of, option_fields
from launchers.vertex.options import VertexOptions
from tests.cli.command import Launch
from tests.vertex.documents import IMAGE, captured, through_the_client

OURS = ("vertex", "train.py", "--instances", "2", "--gpus", "4", "--image", IMAGE)


@pytest.fixture
def here(launch: Launch) -> Launch:
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    return launch


# --- launch.yaml

# Every key of the section `vertex:`, with what its flag would say. Those that exclude each other
# are in the second.
KEYS: list[dict[str, Any]] = [
    {
        "project": "my-project",
        "accelerator": "NVIDIA_L4:4",
        "service_account": "me@my-project.iam.gserviceaccount.com",
        "network": "projects/123/global/networks/default",
        "reserved_ip_ranges": ["a", "b"],
        "disable_retries": True,
        "reservation": [
            "projects/p/zones/europe-west4-a/reservations/r",
            "projects/p/zones/europe-west4-b/reservations/s",
        ],
        "reduction_servers": 2,
        "reduction_server_machine": "n1-highcpu-32",
        "reduction_server_disk": "pd-standard:300",
        "nfs_mounts": {"data": "10.0.0.2:/exports/data", "more/data": "nfs.local:/x"},
        "dashboard_access": True,
        "limits": {"join": "20m", "stop": "30s"},
        "experiment": "my-experiment",
        "experiment_run": "first",
        "encryption_key": "projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k",
        "boot_disk": "pd-ssd:200",
        "web_access": True,
        "tensorboard": "projects/p/locations/europe-west4/tensorboards/1",
    },
    {"network_attachment": "a", "flex_start": True},
    {"persistent_resource": "mine", "limits": {"join": "10m"}},
]


def test_every_key_of_the_section_is_tried():
    own = {key_of(item) for item, _ in option_fields(VertexOptions)}
    # `request` has no flag: test_request.py has its rows.
    assert set().union(*KEYS) == own - {"request"}
    assert set(schema()["properties"]["vertex"]["properties"]) == own


@pytest.mark.parametrize("section", KEYS)
def test_a_launch_yaml_says_what_the_flags_say(here: Launch, section: dict[str, Any]):
    common = {"instances": 2, "gpus": 4, "region": "europe-west4", "bucket": "gs://my-bucket"}
    content = {"script": "train.py", "image": IMAGE, **common, "vertex": section}
    here.write("job.yaml", yaml.safe_dump(content))
    by_file = here("vertex", "-f", "job.yaml", "--dry-run")
    assert by_file.code == 0, by_file.err
    words = [*OURS, "--location", "europe-west4", "--bucket", "my-bucket", "--dry-run"]
    for item, _ in option_fields(VertexOptions):
        if not item.metadata["flags"]:
            continue
        value, flag = section.get(key_of(item), default_of(item)), item.metadata["flags"][0]
        if isinstance(value, dict):
            value = [f"{name}={text}" for name, text in value.items()]
        for one in value if isinstance(value, list) else [value]:
            words += (
                [] if one in (None, False, (), {}) else [flag] if one is True else [flag, str(one)]
            )
    (here.folder / "job.yaml").unlink()
    by_flags = here(*words, "--no-file")
    assert by_flags.code == 0, by_flags.err
    # The file itself lies in the source that travels, and so in the digest.
    assert without_digest(by_file.json) == without_digest(by_flags.json)


def without_digest(document: dict[str, Any]) -> dict[str, Any]:
    """A CustomJob without what depends on the hash of the source."""
    for pool in document["jobSpec"]["workerPoolSpecs"]:
        pool["containerSpec"].pop("args", None)
        pool["containerSpec"]["env"] = [
            item
            for item in pool["containerSpec"]["env"]
            if item["name"] not in ("LAUNCH_JOB", "LAUNCH_CHECKPOINT_DIR", "LAUNCH_TAGS")
        ]
    document["jobSpec"].pop("baseOutputDirectory")
    return {
        "jobSpec": document["jobSpec"],
        "encryptionSpec": document.get("encryptionSpec"),
        "labels": {**document["labels"], "launch-digest": ""},
    }


def test_all_wrong_keys_of_a_launch_yaml_are_told_with_their_lines(here: Launch):
    here.write(
        "launch.yaml",
        "gpus: 4\nvertex:\n  servce_account: x\n  accelrator: y\nvertx: {}\n",
    )
    answer = here("vertex", "train.py", "--dry-run")
    assert (answer.code, answer.out) == (2, "")
    for place, meant in (
        ("launch.yaml:3: vertex.servce_account", "service_account"),
        ("launch.yaml:4: vertex.accelrator", "accelerator"),
        ("launch.yaml:5: vertx", "vertex"),
    ):
        (line,) = [line for line in answer.err.splitlines() if place in line]
        assert line.endswith(f"did you mean {meant}?")


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("location: us-central1\n", "did you mean region?"),
        ("timeout: 2h\n", "did you mean max_runtime?"),
        ("vertex: {location: us-central1}\n", "`region:` belongs at the top"),
        ("vertex: {bucket: b}\n", "`bucket:` belongs at the top"),
        ("boot_disk: pd-ssd:200\n", "`boot_disk:` belongs under `vertex:`"),
    ],
)
def test_a_key_in_the_wrong_place_is_told_where_it_stands(here: Launch, text: str, fix: str):
    here.write("launch.yaml", f"gpus: 4\n{text}")
    answer = here("vertex", "train.py", "--dry-run")
    assert answer.code == 2
    assert answer.err.rstrip().endswith(fix)


def test_a_dry_run_of_a_sweep_prints_every_job(here: Launch):
    here.write(
        "launch.yaml",
        f"gpus: 4\nimage: {IMAGE}\nvertex: {{project: my-project}}\n"
        "sweep:\n  matrix:\n    args.lr: [1.10, 1e-3]\n"
        "    vertex.boot_disk: [pd-ssd:100, pd-standard:200]\n",
    )
    answer = here("vertex", "train.py", "--dry-run")
    assert answer.code == 0, answer.err
    jobs = answer.json
    found = {
        (
            json.loads(pool["containerSpec"]["args"][2])[-1],
            pool["diskSpec"]["bootDiskType"],
        )
        for job in jobs
        for pool in job["jobSpec"]["workerPoolSpecs"]
    }
    assert found == {
        (rate, disk) for rate in ("1.10", "1e-3") for disk in ("pd-ssd", "pd-standard")
    }
    assert len({job["displayName"] for job in jobs}) == 4
    as_yaml = here("vertex", "train.py", "--dry-run", "--format", "yaml").out
    assert [*yaml.safe_load_all(as_yaml)] == jobs
    with_plans = here("vertex", "train.py", "--dry-run", "--json").json
    assert [one["document"] for one in with_plans] == jobs
    assert [one["plan"]["name"] for one in with_plans] == [job["displayName"] for job in jobs]


# --- documents of other tools


def test_the_file_of_gclouds_config_is_checked_and_its_places_are_its_own(here: Launch):
    spec = captured("n1_4xT4.json")["jobSpec"]
    here.write("config.yaml", yaml.safe_dump(spec))
    passing = here("check", "config.yaml", "--json")
    assert (passing.code, passing.json["provider"]) == (0, "vertex")
    here.write("config.yaml", yaml.safe_dump(captured("chief_3workers.json")["jobSpec"]))
    refused = here("check", "config.yaml", "--world-size", "16")
    assert refused.code == 2
    (line,) = [line for line in refused.err.splitlines() if line.startswith("error: ")]
    assert "$.workerPoolSpecs[0].containerSpec: horovodrun -np 4 on each" in line


def test_what_terraform_would_send_is_checked(here: Launch):
    """Numbers where the service prints texts, and null or nothing for what is not set."""
    printed = here(*OURS, "--dry-run").json
    for pool in printed["jobSpec"]["workerPoolSpecs"]:
        pool["replicaCount"] = int(pool["replicaCount"])
        pool |= {"diskSpec": {}, "pythonPackageSpec": None, "nfsMounts": []}
        pool["machineSpec"]["reservationAffinity"] = None
    printed["jobSpec"] |= {"network": None, "serviceAccount": "", "reservedIpRanges": []}
    printed["encryptionSpec"] = None
    here.write("job.json", json.dumps(printed))
    through_the_client(json.dumps(printed))
    answer = here("check", "job.json", "--world-size", "8", "--json")
    assert (answer.code, answer.json["problems"], answer.json["world_size"]) == (0, [], 8)


# --- a dry run

# Runs a command where every look at the network fails, and Google's packages cannot be imported.
OFFLINE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("google", "grpc", "requests", "boto3", "botocore"):
            raise ModuleNotFoundError(name)

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise RuntimeError(event)

sys.meta_path.insert(0, Absent())
sys.addaudithook(refuse)
from launchers.cli import main
sys.exit(main.run(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "words",
    [
        OURS,
        (*OURS, "--format", "yaml"),
        ("vertex", "train.py", "--accelerator", "NVIDIA_TESLA_T4:4", "--spot"),
    ],
)
def test_a_dry_run_needs_no_network_no_account_and_no_package_of_googles(
    here: Launch, words: tuple[str, ...]
):
    bare = {
        name: value
        for name, value in here.environment({}).items()
        if not name.startswith(("GOOGLE_", "CLOUDSDK_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, *words, "--dry-run"],
        cwd=here.folder,
        env={**bare, "CLOUDSDK_CONFIG": str(here.folder / "none")},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["jobSpec"]["workerPoolSpecs"]


def test_the_same_request_comes_on_another_day(here: Launch):
    later = (
        "import sys, time\nreal = time.time\ntime.time = lambda: real() + 40 * 86400\n"
        "from launchers.cli import main\nsys.exit(main.run(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", later, *OURS, "--dry-run"],
        cwd=here.folder,
        env=here.environment({}),
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == here(*OURS, "--dry-run").out


def test_the_line_that_was_meant_stays_a_dry_run(here: Launch):
    answer = here(*OURS, "--dry-run", "--no-file", "--epochs", "3")
    assert answer.code == 2
    assert answer.err.rstrip().endswith("--no-file --dry-run -- --epochs 3")


def test_a_flag_with_two_values_is_not_taken_for_one_of_them(here: Launch):
    words = ("--region", "us-central1", "--location", "europe-west4", "--gpus", "8")
    answer = here(*OURS, *words, "--dry-run")
    assert answer.code == 2
    assert (
        "error: --region: 'us-central1' and 'europe-west4'; expected one value [flag-twice]"
        in answer.err
    )
    assert "error: --gpus: '4' and '8'; expected one value" in answer.err
    assert here(*OURS, "--gpus", "4", "--dry-run").code == 0


def test_of_two_files_or_profiles_none_is_dropped_without_a_word(here: Launch):
    for name in ("a.yaml", "b.yaml"):
        here.write(name, "gpus: 1\nprofiles: {x: {gpus: 2}, y: {gpus: 4}}\n")
    answer = here(*OURS, "-f", "a.yaml", "--file", "b.yaml", "-p", "x", "-p", "y", "--dry-run")
    assert answer.code == 2
    assert "error: -f: 'a.yaml' and 'b.yaml'; expected one value [flag-twice]" in answer.err
    assert "error: -p: 'x' and 'y'; expected one value [flag-twice]" in answer.err
    answer = here(*OURS, "-f", "a.yaml", "-f", "a.yaml", "-p", "x", "--dry-run")
    assert answer.code == 0, answer.err


def test_an_image_says_where_it_was_named(here: Launch):
    here.write("launch.yaml", f"gpus: 4\nimage: {IMAGE}\n")
    assert f"{IMAGE}  (launch.yaml)" in here("vertex", "train.py", "--dry-run").err
    assert f"{IMAGE}  (--image)" in here(*OURS, "--dry-run").err


def test_a_rehearsal_says_why_it_cannot_tell_how_many_ranks_a_document_starts(here: Launch):
    job = captured("chief_3workers.json")
    for pool in job["jobSpec"]["workerPoolSpecs"]:
        pool["containerSpec"] = {"imageUri": IMAGE, "command": ["python", "train.py"]}
    here.write("job.json", json.dumps(job))
    answer = here("rehearse", "job.json")
    assert answer.code == 2
    assert "--world-size" in answer.err
    assert "python train.py on each of 4 replicas" in answer.err


MIRRORED = "import tensorflow as tf\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()\n"


@pytest.mark.parametrize(
    ("text", "started", "why"),
    [
        (MIRRORED, 4, "MultiWorkerMirroredStrategy"),
        ("import horovod.tensorflow as hvd\nhvd.init()\n", None, "a world of its own"),
        ("print(1)\n", None, "TF_CONFIG"),
    ],
    ids=["MultiWorkerMirrored", "Horovod", "neither"],
)
def test_the_source_shows_what_copies_of_a_program_start(
    here: Launch, text: str, started: int | None, why: str
):
    job = captured("chief_3workers.json")
    for pool in job["jobSpec"]["workerPoolSpecs"]:
        pool["containerSpec"] = {"imageUri": IMAGE, "command": ["python", "-u", "/app/train.py"]}
    here.write("job.json", json.dumps(job))
    here.write("train.py", text)
    answer = here("check", "job.json", "--source", ".", "--json")
    assert (answer.code, answer.json["world_size"]) == (0, started)
    assert why in answer.json["because"]
    assert here("check", "job.json", "--json").json["world_size"] is None
