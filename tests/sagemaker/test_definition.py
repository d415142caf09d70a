"""The request that `launch sagemaker` renders: against the real SDK's, and against itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.problems import LaunchError, Problem, errors
from launchers.core.records import nonce
from tests.cli.command import Launch
from tests.sagemaker.documents import captured, plain, prepared, rendered

ROLE = "arn:aws:iam::111122223333:role/SM"

# What our request has, lacks or says otherwise than the SDK's, each with its reason.
EXPLAINED = {
    "TrainingJobName": "ours carries digest and run number, so that a second send is the same job",
    "CheckpointConfig": "always sent: a run that fails is taken up where it stopped",
    "DebugHookConfig": "the SDK's default; nothing here reads the Debugger's output",
    "ProfilerConfig": "the SDK's default; nothing here reads its output",
    "Environment": "carries the world size and what the guard needs",
    "HyperParameters.model_dir": "an argument that the script did not ask for; SM_MODEL_DIR is set",
    "HyperParameters.sagemaker_program": "the guard is the program and starts the script",
    "HyperParameters.sagemaker_submit_directory": "the code is always the channel `code`",
    "HyperParameters.sagemaker_job_name": "the job's name is another",
    "HyperParameters.sagemaker_mpi_custom_mpi_options": "-x KEY for each key of Environment",
    "HyperParameters.sagemaker_launch_script": "the script that the guard starts",
    "HyperParameters.sagemaker_launch_args": "its exact arguments, which the toolkit would change",
    "InputDataConfig.code": "named by its hash; in the minimal request the code was no channel",
}

COMMON: dict[str, Any] = {
    "machine": "ml.p3.8xlarge",
    "gpus": None,
    "region": "us-east-1",
    "bucket": "my-bucket",
    "role": ROLE,
    "channels": {"training": "s3://my-bucket/data"},
    "processes": 4,
}
MINIMAL = {
    **COMMON,
    "arguments": ("--epochs", "3", "--lr", "0.1", "--name", "abc"),
    "output_path": "s3://my-bucket/",
    "mpi_options": ("-verbose -x NCCL_DEBUG=INFO",),
}
FULL = {
    **COMMON,
    "arguments": ("--epochs", "3"),
    "environment": {"A": "b"},
    "tags": {"team": "x"},
    "output_path": "s3://my-bucket/out",
    "output_key": "k2",
    "volume_key": "k1",
    "volume_size": 200,
    "subnets": ("subnet-1",),
    "security_groups": ("sg-1",),
    "isolate": True,
    "encrypt_traffic": True,
    "spot": True,
    "max_runtime": 3600,
    "max_wait": 7200,
    "retries": 3,
    "metrics": {"loss": "loss: ([0-9.]+)"},
    "checkpoint": "s3://my-bucket/ckpt",
    "mpi_options": ("-x NCCL_DEBUG=INFO",),
}


@pytest.mark.parametrize(
    ("name", "asked"),
    [("v2_tf_mpi_minimal.json", MINIMAL), ("v2_tf_mpi_full.json", FULL)],
    ids=["minimal", "full"],
)
def test_the_request_is_the_sdks_but_for_what_is_explained(name: str, asked: dict[str, Any]):
    theirs, ours = flat(captured(name)), flat(rendered(**asked))
    different = {
        key for key in theirs.keys() | ours.keys() if theirs.get(key, "-") != ours.get(key, "-")
    }
    unexplained = {
        key
        for key in different
        if not any(key == reason or key.startswith(reason + ".") for reason in EXPLAINED)
    }
    assert unexplained == set()


def test_the_environment_that_was_asked_for_is_the_one_that_is_sent():
    environment = rendered(**FULL)["Environment"]
    assert {key: value for key, value in environment.items() if not key.startswith("LAUNCH_")} == {
        "A": "b"
    }


def flat(document: Any, path: str = "") -> dict[str, Any]:
    """Leaves by their path; channels by their name, since their order does not matter."""
    if path == "InputDataConfig":
        document = {channel["ChannelName"]: channel for channel in document}
    if not isinstance(document, dict) or not document:
        return {path: document}
    leaves: dict[str, Any] = {}
    for key, value in document.items():
        leaves |= flat(value, f"{path}.{key}" if path else key)
    return leaves


def test_the_world_size_is_the_same_number_everywhere():
    document = rendered(instances=3, gpus=8)
    assert document["Environment"]["LAUNCH_WORLD_SIZE"] == "24"
    assert document["ResourceConfig"]["InstanceCount"] == 3
    assert document["HyperParameters"]["sagemaker_mpi_num_of_processes_per_host"] == "8"
    assert prepared(instances=3, gpus=8).plan.world_size == 24


def test_every_key_of_the_environment_is_carried_to_every_rank():
    document = rendered(environment={"A": "x#y", "B": 'q"\n'})
    options = json.loads(document["HyperParameters"]["sagemaker_mpi_custom_mpi_options"]).split()
    carried = [options[at + 1] for at, word in enumerate(options) if word == "-x"]
    assert set(document["Environment"]) <= set(carried)


ARGUMENTS = ("--lr", "1.10", "--flag", "--name", "a b", "-v", "-v", "file#1", "")


def test_arguments_travel_verbatim_and_are_shown_as_hyperparameters():
    parameters = rendered(arguments=ARGUMENTS)["HyperParameters"]
    assert json.loads(parameters["sagemaker_launch_args"]) == list(ARGUMENTS)
    assert parameters["lr"] == "1.10"
    assert parameters["name"] == '"a b"'
    assert "flag" not in parameters


@pytest.mark.parametrize(
    ("asked", "machine"),
    [
        ({"gpus": 4}, "ml.g5.12xlarge"),
        ({"gpus": 8}, "ml.g5.48xlarge"),
        ({"gpus": 1}, "ml.g5.xlarge"),
        ({"gpus": None, "machine": "ml.p4d.24xlarge"}, "ml.p4d.24xlarge"),
        ({"gpus": 4, "machine": "ml.g4dn.12xlarge"}, "ml.g4dn.12xlarge"),
    ],
)
def test_a_machine_has_the_gpus_that_were_asked_for(asked: dict[str, Any], machine: str):
    assert rendered(**asked)["ResourceConfig"]["InstanceType"] == machine


def test_machines_without_gpus_take_the_ranks_that_are_asked_for():
    document = rendered(gpus=0, processes=6)
    assert document["Environment"]["LAUNCH_WORLD_SIZE"] == "12"
    assert "-cpu-" in document["AlgorithmSpecification"]["TrainingImage"]
    assert document["Environment"]["LAUNCH_PIN_GPU"] == "none"


@pytest.mark.parametrize(
    ("machine", "told"), [("ml.g5.24xlarge", True), ("ml.p4d.24xlarge", False)]
)
def test_efa_is_set_where_the_toolkit_does_not(machine: str, told: bool):
    parameters = rendered(gpus=None, machine=machine)["HyperParameters"]
    assert ("FI_PROVIDER=efa" in parameters["sagemaker_mpi_custom_mpi_options"]) == told


def test_placeholders_are_listed_and_a_filled_request_has_none():
    listed = prepared().definition.placeholders
    assert len(listed) == 4
    filled = prepared(role=ROLE, bucket="my-bucket", region="eu-west-1").definition
    assert [item.value for item in filled.placeholders] == [nonce.PLACEHOLDER]
    sent = nonce.filled(filled, nonce.new_nonce())
    assert sent.placeholders == ()
    assert "PLACEHOLDER" not in sent.text.upper()
    assert ".eu-west-1." in sent.text


def test_name_role_and_bucket_are_no_part_of_the_digest_and_all_else_is():
    def digest(**asked: Any) -> str:
        return prepared(**asked).definition.name.split("-")[-2]

    assert digest() == digest(name="other") == digest(role=ROLE) == digest(bucket="mine")
    for change in (
        {"instances": 3},
        {"arguments": ("--a",)},
        {"environment": {"A": "b"}},
        {"max_runtime": 60},
        {"tags": {"a": "b"}},
    ):
        assert digest(**change) != digest()


def test_planning_changes_neither_the_job_nor_the_disk(tmp_path: Path, no_account: Path):
    before = sorted(no_account.rglob("*"))
    first, second = prepared(), prepared()
    assert first.definition.text == second.definition.text
    assert sorted(no_account.rglob("*")) == before


MISUSES = [
    ("no machine at all", {"gpus": None}, "--gpus"),
    ("a count that no machine has", {"gpus": 3}, "--gpus"),
    ("no such machine", {"gpus": None, "machine": "ml.p3.9xlarge"}, "--machine"),
    ("a machine without ml.", {"gpus": None, "machine": "g5.12xlarge"}, "--machine"),
    ("a machine with other GPUs", {"gpus": 4, "machine": "ml.g5.48xlarge"}, "--machine"),
    ("a machine with Trainium", {"gpus": None, "machine": "ml.trn1.32xlarge"}, "--machine"),
    ("more ranks than GPUs", {"processes": 8}, "--processes"),
    ("spot without a wait", {"spot": True}, "$.StoppingCondition"),
    ("a wait without spot", {"max_wait": 90000}, "$.StoppingCondition"),
    ("a wait below the run", {"spot": True, "max_wait": 60}, "$.StoppingCondition"),
    ("29 days", {"max_runtime": 29 * 86400}, "$.StoppingCondition"),
    ("a long name", {"name": "a" * 200}, None),
    (
        "101 hyperparameters",
        {"arguments": tuple(w for i in range(101) for w in (f"--h{i}", "1"))},
        "$.HyperParameters",
    ),
    ("arguments over 2,500", {"arguments": ("--x", "y" * 2600)}, "$.HyperParameters"),
    ("an argument for the toolkit", {"arguments": ("--sagemaker_mpi_enabled", "x")}, "--"),
    ("101 variables", {"environment": {f"A{i}": "1" for i in range(101)}}, "$.Environment"),
    ("a variable over 512", {"environment": {"A": "x" * 513}}, "$.Environment.A"),
    ("a variable of ours", {"environment": {"LAUNCH_WORLD_SIZE": "4"}}, "--env LAUNCH_WORLD_SIZE"),
    ("a variable of Horovod's", {"environment": {"HOROVOD_SIZE": "4"}}, "--env HOROVOD_SIZE"),
    ("an AWS key", {"environment": {"KEY": "AKIAIOSFODNN7EXAMPLA"}}, "$.Environment.KEY"),
    ("a password", {"arguments": ("--password", "hunter2hunter2")}, "--"),
    ("-h for mpirun", {"mpi_options": ("-h",)}, "$.HyperParameters"),
    ("-x of ours", {"mpi_options": ("-x LAUNCH_WORLD_SIZE=1",)}, "$.HyperParameters"),
    ("an image without Horovod", {"framework": "tensorflow-2.14"}, "$.AlgorithmSpecification"),
    ("an image below Python 3.8", {"framework": "tensorflow-2.4"}, "$.AlgorithmSpecification"),
    ("no such image", {"framework": "tensorflow-1.99"}, "--framework"),
    ("two images", {"framework": "tensorflow-2.12", "image": "x"}, "--framework"),
    (
        "a GPU that CUDA 11.8 cannot drive",
        {"gpus": None, "machine": "ml.g7e.24xlarge"},
        "$.AlgorithmSpecification",
    ),
    ("a secret under isolation", {"isolate": True, "secrets": {"A": "arn:aws:x"}}, "--isolate"),
    ("an aws: tag", {"tags": {"aws:x": "y"}}, "$.Tags"),
    (
        "a warm pool with spot",
        {"spot": True, "max_wait": 90000, "keep_alive": 60},
        "$.ResourceConfig",
    ),
    (
        "six security groups",
        {"security_groups": tuple(f"sg-{i}" for i in range(6)), "subnets": ("subnet-1",)},
        "$.VpcConfig",
    ),
    ("a key on local disks", {"volume_key": "k"}, "$.ResourceConfig.VolumeKmsKeyId"),
    ("a long metric", {"metrics": {"a": f"({'x' * 500})"}}, "$.AlgorithmSpecification"),
    ("a metric of no pattern", {"metrics": {"loss": "["}}, "--metric loss"),
    ("a metric without a group", {"metrics": {"loss": "loss: [0-9]+"}}, "--metric loss"),
    ("a metric in Java's words", {"metrics": {"a": r"(?<v>\p{Alpha}++)"}}, None),
    ("a bucket in capitals", {"bucket": "My_Bucket"}, "--bucket"),
    ("a bucket with a folder", {"bucket": "s3://my-bucket/x"}, "--bucket"),
    ("a channel of ours", {"channels": {"code": "s3://b/x"}}, "--channel code"),
    ("a channel `model`", {"channels": {"model": "s3://b/x"}}, None),
    ("no PATH", {"environment": {"PATH": ""}}, "--env PATH"),
    ("a registry of no image", {"private_registry": "vpc"}, "--private-registry"),
    ("another role", {"role": "arn:aws:iam::1:user/x"}, "$.RoleArn"),
    ("no such script", {"script": "nosuch.py"}, "SCRIPT"),
]


def errors_of(**asked: Any) -> list[Problem]:
    try:
        return errors(prepared(**asked).problems)
    except LaunchError as error:
        return errors(error.problems)


# Of each misuse the rules that it breaks; none where it breaks none.
BROKEN = {
    "no machine at all": "gpus-missing",
    "a count that no machine has": "machine-gpus",
    "no such machine": "machine-unknown",
    "a machine without ml.": "machine-unknown",
    "a machine with other GPUs": "machine-gpus",
    "a machine with Trainium": "machine-accelerator",
    "more ranks than GPUs": "ranks-above-gpus",
    "spot without a wait": "spot-wait",
    "a wait without spot": "spot-wait",
    "a wait below the run": "spot-wait",
    "29 days": "runtime-limit",
    "a long name": "",
    "101 hyperparameters": "model-length",
    "arguments over 2,500": "model-length",
    "an argument for the toolkit": "argument-reserved",
    "101 variables": "model-length",
    "a variable over 512": "model-length",
    "a variable of ours": "env-reserved",
    "a variable of Horovod's": "env-reserved",
    "an AWS key": "credential",
    "a password": "credential",
    "-h for mpirun": "mpi-option",
    "-x of ours": "env-reserved",
    "an image without Horovod": "image-horovod",
    "an image below Python 3.8": "image-python",
    "no such image": "framework-unknown",
    "two images": "image-twice",
    "a GPU that CUDA 11.8 cannot drive": "image-cuda",
    "a secret under isolation": "isolation secret-reference",
    "an aws: tag": "tag-reserved",
    "a warm pool with spot": "warm-pool-spot",
    "six security groups": "model-length",
    "a key on local disks": "volume-key-nvme",
    "a long metric": "model-length",
    "a metric of no pattern": "metric-pattern",
    "a metric without a group": "metric-pattern",
    "a metric in Java's words": "",
    "a bucket in capitals": "bucket-name",
    "a bucket with a folder": "bucket-name",
    "a channel of ours": "channel-reserved",
    "a channel `model`": "",
    "no PATH": "env-path",
    "a registry of no image": "private-registry",
    "another role": "model-pattern",
    "no such script": "script-missing source-credential",
}


@pytest.mark.parametrize(("name", "asked", "path"), MISUSES, ids=[case[0] for case in MISUSES])
def test_a_misuse_is_a_clear_problem(name: str, asked: dict[str, Any], path: str | None):
    problems = errors_of(**asked)
    assert sorted({problem.rule for problem in problems}) == BROKEN[name].split()
    assert path is None or any(problem.path.startswith(path) for problem in problems), problems
    assert all(problem.found and problem.expected for problem in problems)


def test_the_same_request_comes_from_another_folder_time_zone_and_hash_seed(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    words = ("sagemaker", "train.py", "--gpus", "4", "--env", "B=1", "--env", "A=2", "--dry-run")
    first = launch(*words)
    assert first.code == 0, first.err
    other = Launch(launch.home, launch.folder.parent / "elsewhere")
    other.write("train.py", "import horovod.tensorflow as hvd\n")
    second = other(*words, TZ="Pacific/Auckland", PYTHONHASHSEED="5", LANG="C")
    assert second.out == first.out


def test_the_document_is_what_json_and_yaml_say_alike_and_check_accepts_both(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    words = ("sagemaker", "train.py", "--gpus", "4", "--dry-run")
    for form in ("json", "yaml"):
        answer = launch(*words, "--format", form)
        launch.write(f"job.{form}", answer.out)
        checked = launch("check", f"job.{form}", "--world-size", "4", "--json")
        assert (checked.code, checked.json["ok"], checked.json["world_size"]) == (0, True, 4)


def test_check_says_2_for_a_document_that_starts_fewer_ranks_than_meant(launch: Launch):
    document = plain()
    document["HyperParameters"]["sagemaker_mpi_num_of_processes_per_host"] = "1"
    launch.write("job.json", json.dumps(document))
    answer = launch("check", "job.json", "--json")
    assert answer.code == 2
    assert {problem["rule"] for problem in answer.json["problems"]} >= {"world-size"}


def test_check_says_how_many_ranks_start_and_why(launch: Launch):
    launch.write("job.json", json.dumps(plain()))
    answer = launch("check", "job.json")
    assert "it starts a world size of 8: MPI over 2 hosts x 4 processes" in " ".join(
        answer.err.split()
    )
    as_json = launch("check", "job.json", "--json").json
    assert (as_json["world_size"], as_json["because"]) == (8, "MPI over 2 hosts x 4 processes")


@pytest.mark.parametrize(
    ("file", "text", "part"),
    [
        ("job.json", "", "nothing"),
        ("job.json", "[]", "nothing"),
        ("job.json", "{", "valid JSON"),
        ("job.json", "a: [", "valid JSON"),
        ("job.yaml", "a: [", "valid YAML"),
        ("job.json", '{"A": 1, "A": 2}', "the same key twice"),
    ],
)
def test_check_tells_what_is_no_document(launch: Launch, file: str, text: str, part: str):
    launch.write(file, text)
    answer = launch("check", file)
    assert (answer.code, part in answer.err, "Traceback" in answer.err) == (2, True, False)


def test_a_submission_without_a_region_is_refused_and_leaves_no_job(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    answer = launch("sagemaker", "train.py", "--gpus", "4")
    assert answer.code == 2
    assert "--region" in answer.err
    assert "[region-missing]" in answer.err
    assert launch("list").err.startswith("no jobs yet")


# Flags that are wrong, the places of what the document breaks besides, and of what it doesn't.
WRONG = [
    ("--gpus 3 --max-wait 1h", ["--gpus", "MaxWaitTimeInSeconds"], "InstanceType"),
    ("--gpus 4 --processes 8 --tag aws:a=b", ["--processes", "Tags[0]"], "processes_per_host"),
    (
        "--gpus 4 --image x --framework tensorflow-2.12 --spot",
        ["--framework", "MaxWait"],
        "Training",
    ),
    ("--gpus 4 --env LAUNCH_X=1 --max-runtime 40d", ["--env LAUNCH_X", "MaxRuntime"], "Environ"),
    ("--gpus 4 --tag aws:a=b -- --sagemaker_x 1", ["-- --sagemaker_x", "Tags[0]"], "HyperP"),
]


@pytest.mark.parametrize(("words", "told", "not_told"), WRONG, ids=[row[0] for row in WRONG])
def test_wrong_flags_are_told_with_what_the_document_breaks_besides(
    launch: Launch, words: str, told: list[str], not_told: str
):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    answer = launch("sagemaker", "train.py", "--dry-run", *words.split())
    lines = [line for line in answer.err.splitlines() if line.startswith("error: ")]
    assert answer.code == 2
    assert len(lines) == len(told)
    assert all(any(part in line for line in lines) for part in told)
    assert not any(f"$.{not_told}" in line or f".{not_told}" in line for line in lines)


FUNCTION = "arn:aws:lambda:us-east-1:111122223333:function:credentials"
TRAINING_PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/p"
IN_VPC = {"subnets": ("subnet-0123abcd",), "security_groups": ("sg-0123abcd",)}
# A flag, and what it alone adds to the request: the others stay as they are.
ADDED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("a training plan", {"training_plan": TRAINING_PLAN},
     {"ResourceConfig.TrainingPlanArn": TRAINING_PLAN}),
    ("remote debug", {"remote_debug": True}, {"RemoteDebugConfig.EnableRemoteDebug": True}),
    ("TensorBoard", {"tensorboard": "s3://my-bucket/tb"},
     {"TensorBoardOutputConfig.S3OutputPath": "s3://my-bucket/tb"}),
    ("FSx", {"channels": {"train": "fsx://fs-0123456789abcdef0/abc/train"}, **IN_VPC},
     {"InputDataConfig.train.DataSource.FileSystemDataSource": {
         "FileSystemId": "fs-0123456789abcdef0", "FileSystemAccessMode": "ro",
         "FileSystemType": "FSxLustre", "DirectoryPath": "/abc/train"}}),
    ("EFS", {"channels": {"train": "efs://fs-01234567/train,rw"}, **IN_VPC},
     {"InputDataConfig.train.DataSource.FileSystemDataSource": {
         "FileSystemId": "fs-01234567", "FileSystemAccessMode": "rw",
         "FileSystemType": "EFS", "DirectoryPath": "/train"}}),
    ("an open registry", {"private_registry": "vpc", "image": "registry.local/h:1", **IN_VPC},
     {"AlgorithmSpecification.TrainingImage": "registry.local/h:1",
      "AlgorithmSpecification.TrainingImageConfig": {"TrainingRepositoryAccessMode": "Vpc"}}),
    ("a registry with credentials",
     {"private_registry": FUNCTION, "image": "registry.local/h:1", **IN_VPC},
     {"AlgorithmSpecification.TrainingImage": "registry.local/h:1",
      "AlgorithmSpecification.TrainingImageConfig": {
          "TrainingRepositoryAccessMode": "Vpc",
          "TrainingRepositoryAuthConfig": {
              "TrainingRepositoryCredentialsProviderArn": FUNCTION}}}),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "added"), [r[1:] for r in ADDED], ids=[r[0] for r in ADDED])
def test_a_flag_adds_its_fields_and_no_others(asked: dict[str, Any], added: dict[str, Any]):
    made = prepared(**asked)
    assert errors(made.problems) == []
    found, before = flat(json.loads(made.definition.text)), flat(plain())
    network = {
        "VpcConfig.Subnets": ["subnet-0123abcd"],
        "VpcConfig.SecurityGroupIds": ["sg-0123abcd"],
    }
    expected = {**(network if "subnets" in asked else {})}
    for path, value in added.items():
        expected |= flat(value, path)
    if "channels" in asked:
        expected["InputDataConfig.train.ChannelName"] = "train"
    named = ("TrainingJobName", "CheckpointConfig.S3Uri", "HyperParameters.sagemaker_job_name")
    unnamed = {path: value for path, value in found.items() if path not in named}
    for variable in ("LAUNCH_JOB", "LAUNCH_TAGS"):
        unnamed.pop(f"Environment.{variable}")
    assert {path: value for path, value in unnamed.items() if before.get(path) != value} == expected
    assert before.keys() <= found.keys()


def test_the_plan_shows_what_costs_money_or_opens_access():
    asked = {
        **FULL,
        "training_plan": TRAINING_PLAN,
        "remote_debug": True,
        "tensorboard": "s3://b/t",
    }
    asked |= {"spot": False, "max_wait": None, "keep_alive": 1800}
    rows = [(row.label, row.text) for row in prepared(**asked, framework=None).plan.rows]
    for row in [
        ("channel", "training from s3://my-bucket/data"), ("network", "subnet-1, sg-1"),
        ("key", "k1 for the disks"), ("key", "k2 for the model"), ("training plan", TRAINING_PLAN),
        ("warm pool", "machines are kept, and paid for, 30m more"), ("disk", "200 GB each host"),
        ("retries", "up to 3"), ("TensorBoard", "s3://b/t"),
        ("remote debug", "shells in the containers"), ("isolation", "no network in the containers"),
        ("tags", "team=x"),
    ]:  # fmt: skip
        assert row in rows


def test_a_name_that_is_cut_is_said():
    (row,) = [row for row in prepared(name="x" * 70).plan.rows if row.label == "name"]
    assert row.text.startswith("x" * 49 + "-")
    assert "x" * 70 in row.origin
    assert [row for row in prepared(name="x" * 49).plan.rows if row.label == "name"] == []


def test_an_image_that_lies_elsewhere_is_a_warning_since_a_rehearsal_takes_it():
    found = [one for one in prepared(image="launch-horovod:1").problems if one.path == "--image"]
    assert [(one.rule, one.severity) for one in found] == [("image-place", "warning")]
    in_vpc = prepared(image="r.local/h:1", private_registry="vpc", **IN_VPC).problems
    assert [one for one in in_vpc if one.path == "--image"] == []


WRONG_VALUES = [
    ("--subnet", "vpc-123"), ("--subnet", "subnet-xyz"), ("--security-group", "subnet-0123abcd"),
    ("--volume-key", "my key"), ("--output-key", "arn:aws:s3:::b"), ("--role", "arn:aws:iam::1:x"),
    ("--training-plan", "p"), ("--private-registry", "open"), ("--tensorboard", "./tb"),
    ("--channel", "model="), ("--channel", "train=fsx://fs-0123abcd/x,sharded"),
    ("--channel", "train=s3://b/x,rw"), ("--channel", "train=efs://data/x"),
    ("--channel", "train=fsx://fs-0123abcd"),
]  # fmt: skip


def test_malformed_values_of_flags_are_all_told_with_what_is_expected(launch: Launch):
    words = [word for pair in WRONG_VALUES for word in pair]
    answer = launch("sagemaker", "--gpus", "4", "--dry-run", *words)
    assert answer.code == 2
    for flag, value in WRONG_VALUES:
        assert f"error: {flag}: {value!r}; expected " in answer.err


def test_names_that_are_given_twice_and_a_wait_that_nobody_waits_for_are_errors(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    words = [
        "--channel", "a=s3://b/1", "--channel", "a=s3://b/2", "--env", "B=1", "--env", "B=1",
        "--tag", "c=1", "--tag", "c=2", "--metric", "d=(x)", "--metric", "d=(y)",
    ]  # fmt: skip
    answer = launch("sagemaker", "train.py", "--gpus", "4", "--dry-run", *words)
    assert answer.code == 2
    for name in ("--channel a", "--env B", "--tag c", "--metric d"):
        assert f"error: {name}: the same name twice" in answer.err
    both = ("--gpus", "4", "--dry-run", "--detach", "--cancel-on-interrupt")
    answer = launch("sagemaker", "train.py", *both)
    assert (answer.code, "[flag-detach]" in answer.err) == (2, True)
