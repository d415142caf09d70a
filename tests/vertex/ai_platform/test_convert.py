"""Configurations of the old AI Platform Training become jobs of `launch vertex`."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from launchers.cli.verbs.import_job import command
from launchers.core.model.problems import LaunchError, errors
from launchers.core.reading.job_file import read
from launchers.core.reading.job_text import launch_yaml
from launchers.vertex.ai_platform.convert import convert
from launchers.vertex.ai_platform.input import load, read_words
from tests.cli.command import Launch

Config = dict[str, Any]
IMAGE = "gcr.io/my-project/horovod:tf1.15"

# A Horovod sample of the time: horovodrun in a container, four K80 a host, named machine types.
CONTAINER = """
jobId: horovod_mnist_20191105
labels:
  team: vision
trainingInput:
  scaleTier: CUSTOM
  masterType: complex_model_m_gpu
  workerType: complex_model_m_gpu
  workerCount: 3
  masterConfig:
    imageUri: gcr.io/my-project/horovod:tf1.15
    containerCommand: [horovodrun, -np, "16", -H, "localhost:4,w1:4,w2:4,w3:4"]
    containerArgs: [python, train.py, --epochs, "10", --lr, "0.10"]
  workerConfig:
    imageUri: gcr.io/my-project/horovod:tf1.15
  region: us-central1
  jobDir: gs://my-bucket/jobs/mnist
  scheduling:
    maxRunningTime: 7200s
"""

# The same on named Compute Engine machines with accelerators beside them.
ACCELERATORS = """
trainingInput:
  scaleTier: CUSTOM
  masterType: n1-standard-16
  masterConfig:
    acceleratorConfig: {count: 4, type: NVIDIA_TESLA_V100}
    imageUri: eu.gcr.io/p/hvd:2
    diskConfig: {bootDiskType: pd-ssd, bootDiskSizeGb: 200}
    containerCommand: [sh, -c, "mpirun -np 8 -H a:4,b:4 python -u /app/train.py --steps 10"]
  workerType: n1-standard-16
  workerCount: 1
  workerConfig:
    acceleratorConfig: {count: 4, type: NVIDIA_TESLA_V100}
  parameterServerCount: 2
  parameterServerType: n1-highcpu-16
  parameterServerConfig:
    imageUri: us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest
  serviceAccount: trainer@my-project.iam.gserviceaccount.com
  network: projects/123/global/networks/default
  enableWebAccess: true
  encryptionConfig:
    kmsKeyName: projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k
  region: europe-west4
"""

# A Python package with gcloud's flags, most of it on the command line.
PACKAGE_WORDS = [
    "gcloud",
    "ml-engine",
    "jobs",
    "submit",
    "training",
    "census_gpu_1",
    "--job-dir=gs://my-bucket/census",
    "--package-path",
    "trainer/",
    "--module-name",
    "trainer.task",
    "--region",
    "us-east1",
    "--runtime-version",
    "1.15",
    "--python-version=3.7",
    "--scale-tier",
    "basic-gpu",
    "--staging-bucket",
    "gs://staging",
    "--labels",
    "team=ads,stage=dev",
]


def config(text: str) -> Config:
    return yaml.safe_load(text)


def test_four_k80_become_four_t4_on_every_host():
    values, problems = convert(config(CONTAINER))
    assert errors(problems) == []
    assert values == {
        "script": "train.py",
        "name": "horovod-mnist-20191105",
        "instances": 4,
        "machine": "n1-standard-16",
        "image": IMAGE,
        "args": ["--job-dir", "gs://my-bucket/jobs/mnist", "--epochs", "10", "--lr", "0.10"],
        "max_runtime": "2h",
        "output_path": "gs://my-bucket/jobs/mnist",
        "region": "us-central1",
        "bucket": "my-bucket",
        "tags": {"team": "vision"},
        "vertex": {"accelerator": "NVIDIA_TESLA_T4:4"},
    }
    changed = [(problem.path, problem.found) for problem in problems]
    assert ("trainingInput.masterType", "4 x NVIDIA_TESLA_K80") in changed
    assert ("jobId", "horovod_mnist_20191105") in changed
    assert all(problem.severity == "warning" for problem in problems)


def test_machines_with_accelerators_beside_them_keep_both():
    values, problems = convert(config(ACCELERATORS))
    assert errors(problems) == []
    assert values == {
        "script": "train.py",
        "instances": 2,
        "machine": "n1-standard-16",
        "image": "eu.gcr.io/p/hvd:2",
        "args": ["--steps", "10"],
        "max_runtime": "7d",
        "region": "europe-west4",
        "vertex": {
            "accelerator": "NVIDIA_TESLA_V100:4",
            "service_account": "trainer@my-project.iam.gserviceaccount.com",
            "network": "projects/123/global/networks/default",
            "encryption_key": "projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k",
            "boot_disk": "pd-ssd:200",
            "web_access": True,
            "reduction_servers": 2,
            "reduction_server_machine": "n1-highcpu-16",
        },
    }


def test_a_package_on_the_command_line_becomes_a_module_in_its_source():
    flags, wrong = read_words(PACKAGE_WORDS)
    values, problems = convert({}, flags, ["--train-steps", "100"])
    assert wrong == errors(problems) == []
    assert values == {
        "module": "trainer.task",
        "source": ".",
        "name": "census-gpu-1",
        "instances": 1,
        "machine": "n1-standard-8",
        "args": ["--job-dir", "gs://my-bucket/census", "--train-steps", "100"],
        "max_runtime": "7d",
        "output_path": "gs://my-bucket/census",
        "region": "us-east1",
        "bucket": "staging",
        "tags": {"team": "ads", "stage": "dev"},
        "vertex": {"accelerator": "NVIDIA_TESLA_T4:1"},
    }
    told = {problem.path: problem for problem in problems}
    assert told["--runtime-version"].found == "runtimeVersion 1.15 and pythonVersion 3.7"
    assert "launch image build --push" in told["--runtime-version"].fix


def test_flags_win_over_the_file():
    words = [
        "--master-machine-type=n1-standard-8",
        "--worker-machine-type=n1-standard-8",
        "--master-accelerator",
        "type=nvidia-tesla-t4,count=2",
        "--worker-accelerator=count=2,type=nvidia-tesla-t4",
        "--worker-count=1",
        "--master-image-uri=gcr.io/p/i:9",
        "--worker-image-uri=gcr.io/p/i:9",
        "--region=europe-west1",
        "--project=p",
    ]
    flags, wrong = read_words(words)
    before = config(CONTAINER)
    given = copy.deepcopy(before)
    values, problems = convert(given, flags)
    assert given == before
    assert wrong == []
    assert [problem.path for problem in errors(problems)] == [
        "trainingInput.masterConfig.containerCommand"
    ]
    assert values["machine"] == "n1-standard-8"
    assert values["vertex"] == {"project": "p", "accelerator": "NVIDIA_TESLA_T4:2"}
    assert (values["instances"], values["image"], values["region"]) == (
        2,
        "gcr.io/p/i:9",
        "europe-west1",
    )


TYPES = [
    ("standard", "n1-standard-4", None),
    ("large_model", "n1-highmem-8", None),
    ("complex_model_s", "n1-highcpu-16", None),
    ("complex_model_m", "n1-highcpu-16", None),
    ("complex_model_l", "n1-highcpu-32", None),
    ("standard_gpu", "n1-standard-8", "NVIDIA_TESLA_T4:1"),
    ("complex_model_m_gpu", "n1-standard-16", "NVIDIA_TESLA_T4:4"),
    ("standard_p100", "n1-standard-8", "NVIDIA_TESLA_V100:1"),
    ("complex_model_m_p100", "n1-standard-16", "NVIDIA_TESLA_V100:4"),
    ("standard_v100", "n1-standard-8", "NVIDIA_TESLA_V100:1"),
    ("large_model_v100", "n1-highmem-8", "NVIDIA_TESLA_V100:1"),
    ("complex_model_m_v100", "n1-standard-16", "NVIDIA_TESLA_V100:4"),
    ("complex_model_l_v100", "n1-standard-32", "NVIDIA_TESLA_V100:8"),
    ("n1-standard-2", "n1-standard-4", None),
]


@pytest.mark.parametrize(("old", "machine", "accelerator"), TYPES, ids=[row[0] for row in TYPES])
def test_a_named_machine_type_is_what_it_was(old: str, machine: str, accelerator: str | None):
    values, problems = convert(
        {"trainingInput": {"scaleTier": "CUSTOM", "masterType": old}}, {"--script": "t.py"}
    )
    assert errors(problems) == []
    assert values["machine"] == machine
    assert values.get("vertex", {}).get("accelerator") == accelerator
    assert "trainingInput.masterType" in {problem.path for problem in problems}


def put(path: str, value: Any) -> Callable[[Config], None]:
    def change(document: Config) -> None:
        *folders, last = path.split(".")
        for folder in folders:
            document = document.setdefault(folder, {})
        if value is ...:
            document.pop(last)
        else:
            document[last] = value

    return change


INPUT, MASTER, WORKER = (
    "trainingInput",
    "trainingInput.masterConfig",
    "trainingInput.workerConfig",
)
# what is tried, the change, the path that is told, what its text must hold
REFUSED: list[tuple[str, Callable[[Config], None], str, str]] = [
    (
        "8 K80",
        lambda d: [
            put(f"{INPUT}.{replica}Type", "complex_model_l_gpu")(d)
            for replica in ("master", "worker")
        ],
        f"{INPUT}.masterType",
        "n1-standard-32 takes no 8 x NVIDIA_TESLA_T4",
    ),
    ("STANDARD_1", put(f"{INPUT}.scaleTier", "STANDARD_1"), f"{INPUT}.scaleTier", "parameter"),
    ("PREMIUM_1", put(f"{INPUT}.scaleTier", "PREMIUM_1"), f"{INPUT}.scaleTier", "parameter"),
    ("BASIC_TPU", put(f"{INPUT}.scaleTier", "BASIC_TPU"), f"{INPUT}.scaleTier", "TPU"),
    (
        "a tier that is none",
        put(f"{INPUT}.scaleTier", "CUSTOMS"),
        f"{INPUT}.scaleTier",
        "did you mean CUSTOM?",
    ),
    (
        "a tier with a machine",
        put(f"{INPUT}.scaleTier", "BASIC_GPU"),
        f"{INPUT}.scaleTier",
        "CUSTOM",
    ),
    ("a TPU", put(f"{INPUT}.masterType", "cloud_tpu"), f"{INPUT}.masterType", "TPU"),
    (
        "hyperparameters",
        put(f"{INPUT}.hyperparameters", {"goal": "MAXIMIZE"}),
        f"{INPUT}.hyperparameters",
        "sweep:",
    ),
    ("a prediction", put("predictionInput", {"x": 1}), "predictionInput", "prediction"),
    (
        "another machine for workers",
        put(f"{INPUT}.workerType", "standard_gpu"),
        f"{INPUT}.workerType",
        "n1-standard-16 with 4 x NVIDIA_TESLA_T4, as the master's",
    ),
    (
        "another image for workers",
        put(f"{WORKER}.imageUri", "gcr.io/p/other:1"),
        f"{WORKER}.imageUri",
        "the master's image",
    ),
    (
        "workers without a machine",
        put(f"{INPUT}.workerType", ...),
        f"{INPUT}.workerType",
        "missing",
    ),
    ("no machine", put(f"{INPUT}.masterType", ...), f"{INPUT}.masterType", "missing"),
    (
        "a machine that is none",
        put(f"{INPUT}.masterType", "complex_model_m_gpuu"),
        f"{INPUT}.masterType",
        "did you mean complex_model_m_gpu?",
    ),
    (
        "parameter servers",
        put(f"{INPUT}.parameterServerCount", 2),
        f"{INPUT}.parameterServerCount",
        "no parameter servers",
    ),
    ("an evaluator", put(f"{INPUT}.evaluatorCount", 1), f"{INPUT}.evaluatorCount", "rank 0"),
    (
        "a pair that is none",
        lambda d: [
            put(f"{INPUT}.masterType", "n1-standard-16")(d),
            put(f"{MASTER}.acceleratorConfig", {"type": "NVIDIA_TESLA_T4", "count": 3})(d),
        ],
        f"{MASTER}.acceleratorConfig",
        "NVIDIA_TESLA_T4:1,2,4",
    ),
    (
        "accelerators twice",
        put(f"{MASTER}.acceleratorConfig", {"type": "NVIDIA_TESLA_K80", "count": 4}),
        f"{MASTER}.acceleratorConfig",
        "has its own",
    ),
    (
        "an image's entry point",
        put(f"{MASTER}.containerCommand", ...),
        f"{MASTER}.containerCommand",
        "--source DIR --script FILE",
    ),
    (
        "a script that is not said",
        put(f"{MASTER}.containerCommand", ["./run.sh"]),
        f"{MASTER}.containerCommand",
        "--source DIR --script FILE",
    ),
    (
        "ranks that do not divide",
        put(f"{MASTER}.containerCommand", ["horovodrun", "-np", "6", "-H", "a:4,b:2"]),
        f"{MASTER}.containerCommand",
        "-np 6 on 4 replicas",
    ),
    (
        "packages of a bucket",
        lambda d: d.update(
            trainingInput={
                "scaleTier": "BASIC_GPU",
                "pythonModule": "trainer.task",
                "packageUris": ["gs://b/trainer.tar.gz"],
            }
        ),
        f"{INPUT}.packageUris",
        "--source DIR --script FILE",
    ),
    (
        "nothing to run",
        lambda d: d.update(trainingInput={"scaleTier": "BASIC_GPU"}),
        f"{INPUT}.pythonModule",
        "--source DIR --script FILE",
    ),
    ("a place that is none", put(f"{INPUT}.jobDir", "/tmp/x"), f"{INPUT}.jobDir", "gs://"),
    (
        "a time without a unit",
        put(f"{INPUT}.scheduling.maxRunningTime", "7200"),
        f"{INPUT}.scheduling.maxRunningTime",
        "7200s",
    ),
    (
        "a misspelt key",
        put(f"{INPUT}.masterTyp", "standard"),
        f"{INPUT}.masterTyp",
        "did you mean masterType?",
    ),
    (
        "a key one level too high",
        put("workerCount", 3),
        "workerCount",
        "it belongs at trainingInput.workerCount",
    ),
    (
        "a count that is none",
        put(f"{INPUT}.workerCount", "three"),
        f"{INPUT}.workerCount",
        "a whole number",
    ),
    (
        "a part of a key's name",
        put(f"{INPUT}.encryptionConfig.kmsKeyName", "k"),
        f"{INPUT}.encryptionConfig.kmsKeyName",
        "--kms-keyring",
    ),
]


@pytest.mark.parametrize(
    ("change", "path", "text"),
    [pytest.param(*case[1:], id=case[0]) for case in REFUSED],
)
def test_what_has_no_counterpart_is_an_error(
    change: Callable[[Config], None], path: str, text: str
):
    old = config(CONTAINER)
    change(old)
    _, problems = convert(old)
    told = [str(problem) for problem in errors(problems) if problem.path == path]
    assert any(text in one for one in told), errors(problems)


def test_all_problems_are_told_at_once():
    old = config(CONTAINER)
    together = ("hyperparameters", "parameter servers", "an evaluator", "a misspelt key", "8 K80")
    for case in REFUSED:
        if case[0] in together:
            case[1](old)
    told = {problem.path for problem in errors(convert(old)[1])}
    assert {case[2] for case in REFUSED if case[0] in together} <= told


CHANGED: list[tuple[str, Callable[[Config], None], str]] = [
    ("a longest wait", put(f"{INPUT}.scheduling.maxWaitTime", "3600s"), "scheduling.maxWaitTime"),
    ("a priority", put(f"{INPUT}.scheduling.priority", 1), "scheduling.priority"),
    ("a chief in TF_CONFIG", put(f"{INPUT}.useChiefInTfConfig", True), "useChiefInTfConfig"),
    ("a runtime beside an image", put(f"{INPUT}.runtimeVersion", 1.15), "runtimeVersion"),
    (
        "another disk for workers",
        put(f"{WORKER}.diskConfig", {"bootDiskSizeGb": 500}),
        "workerConfig.diskConfig",
    ),
    (
        "another start of workers",
        put(f"{WORKER}.containerArgs", ["x"]),
        "workerConfig.containerArgs",
    ),
]


@pytest.mark.parametrize(
    ("change", "path"), [pytest.param(*case[1:], id=case[0]) for case in CHANGED]
)
def test_what_means_nothing_any_more_is_a_warning(change: Callable[[Config], None], path: str):
    old = config(CONTAINER)
    change(old)
    values, problems = convert(old)
    assert errors(problems) == []
    assert f"{INPUT}.{path}" in {problem.path for problem in problems}
    assert values == convert(config(CONTAINER))[0]


def test_what_the_service_set_is_no_part_of_the_job():
    old = {**config(CONTAINER), "state": "SUCCEEDED", "createTime": "2019-11-05T10:00:00Z"}
    assert convert(old) == convert(config(CONTAINER))


@pytest.mark.parametrize(
    ("command", "instances", "processes"),
    [
        (["horovodrun", "-np", "16", "-H", "a:4,b:4,c:4,d:4"], 4, None),
        (["horovodrun", "-np", "8", "-H", "a:2,b:2,c:2,d:2"], 4, 2),
        (["horovodrun", "-np", "4"], 4, None),
        (["horovodrun", "-np", "2"], 4, 2),
        (["python3"], 4, None),
    ],
)
def test_the_ranks_of_each_host_are_those_of_the_launcher(
    command: list[str], instances: int, processes: int | None
):
    old = config(CONTAINER)
    put(f"{MASTER}.containerCommand", command)(old)
    if command == ["python3"]:
        put(f"{MASTER}.containerArgs", ["train.py"])(old)
    values, problems = convert(old)
    assert errors(problems) == []
    assert (values["instances"], values.get("processes")) == (instances, processes)


@pytest.mark.parametrize(
    ("text", "behind", "arguments", "warned"),
    [
        ("python t.py --a 1", [], ["--a", "1"], False),
        ('exec python t.py --a 1 "$@"', ["sh", "--b", "2"], ["--a", "1", "--b", "2"], False),
        ("python t.py --a 1", ["--b", "2"], ["--a", "1", "--b", "2"], True),
    ],
)
def test_a_shells_script_gets_what_stands_behind_it(
    text: str, behind: list[str], arguments: list[str], warned: bool
):
    old = config(CONTAINER)
    put(f"{MASTER}.containerCommand", ["sh", "-c", text])(old)
    put(f"{MASTER}.containerArgs", behind)(old)
    put(f"{INPUT}.jobDir", ...)(old)
    values, problems = convert(old)
    assert errors(problems) == []
    assert values["args"] == arguments
    assert any("after a shell" in problem.found for problem in problems) is warned


def test_copies_of_a_job_are_told_to_have_been_copies():
    old = config(CONTAINER)
    put(f"{MASTER}.containerCommand", ["horovodrun", "-np", "4"])(old)
    told = " ".join(str(problem) for problem in convert(old)[1])
    assert "-np 4 on each of 4 replicas, 4 jobs; expected one job of world size 16" in told


def test_a_key_is_put_together_from_its_flags():
    words = ["--kms-key=k", "--kms-keyring=r", "--kms-location=europe-west4", "--project=p"]
    values, problems = convert(config(CONTAINER), read_words(words)[0])
    assert errors(problems) == []
    assert values["vertex"]["encryption_key"] == (
        "projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k"
    )


def test_mistakes_among_the_words_are_told():
    _, problems = read_words(["a", "b", "--regio", "x", "--worker-count"])
    assert [problem.path for problem in problems] == ["b", "--regio", "--worker-count"]
    assert [problem.rule for problem in problems] == ["import-word", "import-flag", "import-flag"]
    assert problems[1].fix == "did you mean --region?"
    _, problems = convert({}, {"--worker-count": "x", "--master-accelerator": "4xK80"})
    assert {"--worker-count", "--master-accelerator"} <= {problem.path for problem in problems}


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [None], True], ids=repr)
@pytest.mark.parametrize(
    "path",
    [
        "jobId",
        "labels",
        INPUT,
        f"{INPUT}.scaleTier",
        f"{INPUT}.masterType",
        f"{INPUT}.workerCount",
        f"{INPUT}.scheduling",
        MASTER,
        f"{MASTER}.imageUri",
        f"{MASTER}.acceleratorConfig",
        f"{MASTER}.containerCommand",
        f"{MASTER}.containerArgs",
        f"{MASTER}.diskConfig",
    ],
)
def test_no_malformed_file_makes_the_import_fail(path: str, value: Any):
    old = config(CONTAINER)
    put(path, value)(old)
    convert(old)
    convert(value if isinstance(value, dict) else {}, {})


def test_every_field_and_flag_of_the_table_is_one_that_the_old_service_had():
    structures = load()["structures"]
    for path in load()["flags"].values():
        name = "Job"
        for key in path.split("."):
            assert key in structures[name], path
            name = structures[name][key]


# What is written, and what the launcher makes of it.


def imported(words: list[str], arguments: list[str] | None = None) -> int:
    """`launch import`, with what followed `--`; gives the exit code."""
    return command.main(words, standalone_mode=False, obj={"arguments": arguments})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a script and the three configurations."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import horovod.tensorflow as hvd\nhvd.init()\n")
    (tmp_path / "trainer").mkdir()
    (tmp_path / "trainer" / "task.py").write_text("import horovod.tensorflow as hvd\nhvd.init()\n")
    (tmp_path / "container.yaml").write_text(CONTAINER)
    (tmp_path / "accelerators.yaml").write_text(ACCELERATORS)
    (tmp_path / "accelerators.json").write_text(json.dumps(config(ACCELERATORS)))
    (tmp_path / "empty.yaml").write_text("")
    return tmp_path


def test_the_file_is_a_launch_yaml_with_the_changes_as_comments(here: Path):
    assert imported(["container.yaml"]) == 0
    text = (here / "launch.yaml").read_text()
    assert "# Made from container.yaml of AI Platform Training" in text
    assert "4 x NVIDIA_TESLA_T4 take their place" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    values = read(here / "launch.yaml")
    assert values["arguments"][-2:] == ("--lr", "0.10")
    assert values["max_runtime"] == 7200
    assert values["vertex"] == {"accelerator": "NVIDIA_TESLA_T4:4"}


def test_a_file_that_is_there_stays_unless_forced(here: Path, capsys: pytest.CaptureFixture[str]):
    (here / "launch.yaml").write_text("mine")
    words = ["container.yaml"]
    assert imported(words) == 2
    assert (here / "launch.yaml").read_text() == "mine"
    assert "[import-exists]. --force overwrites it" in capsys.readouterr().err
    assert imported([*words, "--force"]) == 0
    assert "instances: 4" in (here / "launch.yaml").read_text()


def test_nothing_is_written_where_something_has_no_counterpart(here: Path):
    words = ["container.yaml", "--scale-tier=premium-1", "-o", "x.yaml"]
    assert imported(words) == 2
    assert not (here / "x.yaml").exists()


def test_paths_begin_at_the_folder_of_the_file_that_is_written(here: Path):
    words = ["empty.yaml", *PACKAGE_WORDS[5:], "-o", "sub/launch.yaml"]
    assert imported(words) == 0
    values = read(here / "sub" / "launch.yaml")
    assert (values["source"], values["module"]) == ("..", "trainer.task")


def test_a_module_that_is_not_there_is_a_warning(here: Path, capsys: pytest.CaptureFixture[str]):
    (here / "trainer" / "task.py").unlink()
    words = ["empty.yaml", *PACKAGE_WORDS[5:]]
    assert imported(words) == 0
    assert "trainer.task in .: no such module" in capsys.readouterr().err


def test_a_module_of_a_container_stays_one():
    old = config(CONTAINER)
    put(f"{MASTER}.containerCommand", ["python3", "-m", "trainer.task"])(old)
    put(f"{MASTER}.containerArgs", ["--lr", "1"])(old)
    put(f"{INPUT}.jobDir", ...)(old)
    values, problems = convert(old)
    assert errors(problems) == []
    assert ("script" in values, values["module"], values["args"]) == (
        False,
        "trainer.task",
        ["--lr", "1"],
    )
    assert any("a module in the image" in problem.found for problem in problems)


def test_a_script_that_is_not_there_is_a_warning(here: Path, capsys: pytest.CaptureFixture[str]):
    (here / "train.py").unlink()
    assert imported(["container.yaml"]) == 0
    assert "train.py: no such file" in capsys.readouterr().err


def test_the_answer_as_json_has_values_and_problems(here: Path, capsys: pytest.CaptureFixture[str]):
    assert imported(["container.yaml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["output"]) == (True, "launch.yaml")
    assert told["values"]["instances"] == 4
    assert {problem["severity"] for problem in told["problems"]} == {"warning"}


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("missing.yaml", None, "file-unreadable"),
        ("list.yaml", "- a\n", "file-shape"),
        ("bad.yaml", "a: [", "file-yaml"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(here: Path, name: str, text: str | None, rule: str):
    if text is not None:
        (here / name).write_text(text)
    with pytest.raises(LaunchError) as caught:
        imported([name])
    assert caught.value.problems[0].rule == rule


@pytest.mark.processes
def test_the_command_takes_gclouds_line_and_what_follows_the_dashes(here: Path):
    launch = Launch(home=here / "home", folder=here)
    flags = ("--scale-tier", "custom", "--master-machine-type=n1-standard-16", "--script=train.py")
    done = launch("import", "empty.yaml", *flags, "job", "--", "--epochs", "3")
    assert done.code == 0, done.err
    assert "next: launch vertex --dry-run" in done.err
    assert read(here / "launch.yaml")["arguments"] == ("--epochs", "3")


@pytest.mark.processes
def test_the_flag_of_old_is_an_error_that_prints_the_new_line(here: Path):
    launch = Launch(home=here / "home", folder=here)
    done = launch("vertex", "job", "--from-ai-platform=container.yaml", "-o", "a b", "--", "--lr")
    assert done.code == 2
    assert "write: launch import container.yaml -o 'a b' job" in done.err


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["--region", "container.yaml"], "FILE"),
        (["container.yaml", "--config", "other.yaml"], "FILE"),
        (["container.yaml", "--provider", "vertx"], "--provider"),
    ],
)
def test_a_file_that_is_not_first_or_not_one_is_told(here: Path, words: list[str], path: str):
    with pytest.raises(LaunchError) as caught:
        imported(words)
    assert caught.value.problems[0].path == path
    assert not (here / "launch.yaml").exists()


def test_an_empty_answer_of_convert_is_written_as_no_keys():
    assert launch_yaml({}, [], "x.yaml").startswith("# Made from x.yaml. ")


POOLS = [
    (["container.yaml"], "n1-standard-16", ("NVIDIA_TESLA_T4", 4), ["1", "3"], 16),
    (["accelerators.yaml"], "n1-standard-16", ("NVIDIA_TESLA_V100", 4), ["1", "1", "2"], 8),
    (["accelerators.json"], "n1-standard-16", ("NVIDIA_TESLA_V100", 4), ["1", "1", "2"], 8),
    (["empty.yaml", *PACKAGE_WORDS[5:]], "n1-standard-8", ("NVIDIA_TESLA_T4", 1), ["1"], 1),
]


@pytest.mark.parametrize(
    ("words", "machine", "accelerator", "replicas", "world_size"),
    POOLS,
    ids=[row[0][0] for row in POOLS],
)
@pytest.mark.processes
def test_a_dry_run_of_the_file_has_the_pools_of_the_old_job(
    here: Path,
    words: list[str],
    machine: str,
    accelerator: tuple[str, int],
    replicas: list[str],
    world_size: int,
):
    assert imported(words, ["--epochs", "3"]) == 0
    launch = Launch(home=here / "home", folder=here)
    done = launch("vertex", "-f", "launch.yaml", "--dry-run")
    assert done.code == 0, done.err
    pools = done.json["jobSpec"]["workerPoolSpecs"]
    assert [pool["replicaCount"] for pool in pools] == replicas
    for pool in pools[:2]:
        spec = pool["machineSpec"]
        assert spec["machineType"] == machine
        assert (spec["acceleratorType"], spec["acceleratorCount"]) == accelerator
        env = {item["name"]: item["value"] for item in pool["containerSpec"]["env"]}
        assert env["LAUNCH_WORLD_SIZE"] == str(world_size)
        assert json.loads(pool["containerSpec"]["args"][2])[-2:] == ["--epochs", "3"]


BROKEN = (
    "import-accelerator import-changed import-key import-machine import-packages "
    "import-refused import-scale-tier import-script import-value"
)


def test_these_rules_are_broken_by_the_tables():
    found = set()
    for case in (*REFUSED, *CHANGED):
        old = config(CONTAINER)
        case[1](old)
        found |= {problem.rule for problem in convert(old)[1]}
    assert sorted(found) == BROKEN.split()


def test_keys_in_snake_case_are_read_as_gcloud_sent_them_on():
    camel = {"trainingInput": {"masterType": "complex_model_m_gpu", "workerCount": 0}}
    snake = {"training_input": {"master_type": "complex_model_m_gpu", "worker_count": 0}}
    flags = {"--scale-tier": "CUSTOM", "--script": "train.py"}
    values, problems = convert(snake, flags)
    expected, theirs = convert(camel, flags)
    assert (values, errors(problems)) == (expected, [])
    assert {problem.path for problem in problems} == {
        "training_input.master_type",
        "trainingInput.masterConfig.imageUri",
    }
    assert len(problems) == len(theirs)
    both = {"trainingInput": {"masterType": "n1-standard-8", "master_type": "n1-standard-16"}}
    assert [problem.rule for problem in errors(convert(both, flags)[1])] == ["import-key"]


def test_an_image_without_a_tag_is_told_at_the_import():
    old = config(CONTAINER)
    old["trainingInput"]["masterConfig"]["imageUri"] = "gcr.io/p/hvd"
    old["trainingInput"]["workerConfig"]["imageUri"] = "gcr.io/p/hvd"
    values, problems = convert(old)
    assert values["image"] == "gcr.io/p/hvd:latest"
    assert [one.path for one in problems if "without a tag" in one.found] == [
        "trainingInput.masterConfig.imageUri"
    ]


def test_a_start_that_is_not_horovods_is_refused():
    old = config(CONTAINER)
    old["trainingInput"]["masterConfig"]["containerCommand"] = ["torchrun"]
    old["trainingInput"]["masterConfig"]["containerArgs"] = ["--nproc_per_node=4", "t.py"]
    assert "torchrun" in str(errors(convert(old)[1])[0])


LINE = "gcloud ml-engine jobs submit training mnist_1 --stream-logs --job-dir gs://b-c-d/x"
LINE += " --runtime-version 1.10 --module-name trainer.task --package-path ./trainer/"
LINE += " --region asia-east1"
CUSTOM = f"{LINE} --scale-tier CUSTOM --config=seed.yaml"
SEED = "trainingInput:\n  scaleTier: BASIC\n  master_type: complex_model_m_gpu\n  worker_count: 0\n"


@pytest.mark.parametrize(
    ("words", "text", "ranks"),
    [
        (CUSTOM.split(), "", 4),
        (["--", *CUSTOM.split()], "", 4),
        (["--", *f"{LINE} --scale-tier BASIC_GPU".split()], "", 1),
        ([*LINE.split()[5:], "--scale-tier=BASIC_GPU"], "", 1),
        (["-", *LINE.split()[5:], "--scale-tier", "CUSTOM"], SEED, 4),
    ],
    ids=["gcloud's line", "behind dashes", "no file", "flags alone", "standard input"],
)
@pytest.mark.processes
def test_a_line_of_old_is_imported_as_it_was_typed_and_then_runs_dry(
    here: Path, words: list[str], text: str, ranks: int, monkeypatch: pytest.MonkeyPatch
):
    (here / "seed.yaml").write_text(SEED)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8"))
    launch = Launch(home=here / "home", folder=here)
    split = words[1:] if words[0] == "--" else words
    arguments = ["--epochs", "2"]
    if words[0] == "--":
        assert imported([], [*split, "--", *arguments]) == 0
    else:
        assert imported(split, arguments) == 0
    done = launch("vertex", "--dry-run")
    assert done.code == 0, done.err
    env = done.json["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["env"]
    assert {item["name"]: item["value"] for item in env}["LAUNCH_WORLD_SIZE"] == str(ranks)
    said = json.loads(done.json["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"][2])
    assert said[-2:] == arguments


def test_without_a_file_or_a_line_the_import_says_what_it_takes(here: Path):
    with pytest.raises(LaunchError, match="- for standard input"):
        imported([])
