"""A script that was written for SageMaker's script mode runs here with the variables it names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launchers.core.source.script import read_source
from launchers.core.spec.job import JobSpec
from launchers.local.job_folder import JobFolder
from launchers.local.script_mode import ScriptMode, Simulated, named_variables, script_mode
from tests.cli.command import Launch

# As the samples of AWS have it: argparse, its defaults from the environment.
SAMPLE = """
import argparse, json, os
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--train", default=os.environ["SM_CHANNEL_TRAIN"])
parser.add_argument("--model_dir", default=os.environ["SM_MODEL_DIR"])
parser.add_argument("--gpus", type=int, default=os.environ["SM_NUM_GPUS"])
parser.add_argument("--hosts", default=json.loads(os.environ["SM_HOSTS"]))
parser.add_argument("--current-host", default=os.environ["SM_CURRENT_HOST"])
args = parser.parse_args()
assert args.current_host in args.hosts
assert json.loads(os.environ["SM_HPS"]) == {"epochs": 3}
print("READ", open(os.path.join(args.train, "data.txt")).read(), args.gpus)
for folder in (args.model_dir, os.environ["SM_OUTPUT_DATA_DIR"]):
    with open(os.path.join(folder, "result.txt"), "w") as file:
        file.write("trained")
"""


def of(
    folder: Path,
    text: str,
    arguments: tuple[str, ...] = (),
    channels: dict[str, str] | None = None,
    given: dict[str, str] | None = None,
    hosts: int = 2,
) -> ScriptMode:
    script = folder / "train.py"
    script.write_text(text)
    names = [f"host-{index + 1}" for index in range(hosts)]
    machine = Simulated(names, 4, JobFolder(Path("/jobs/train-1")), "train-1")
    source = read_source(JobSpec(script=str(script)))
    words = named_variables(source)
    return script_mode(source, words, machine, arguments, channels or {}, given or {})


@pytest.fixture(autouse=True)
def _no_variables_of_this_shell(monkeypatch: pytest.MonkeyPatch):
    import os

    for name in [name for name in os.environ if name.startswith("SM_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    "text", ["print()", "# reads SM_MODEL_DIR", "arch = 'SM_80'", "os.environ['SM_MINE']"]
)
def test_a_source_that_names_none_of_the_toolkits_variables_gets_none(tmp_path: Path, text: str):
    assert of(tmp_path, text) == ScriptMode({}, {}, (), ())


def test_one_that_is_named_brings_them_all_as_they_fit_this_machine(tmp_path: Path):
    found = of(tmp_path, "os.environ['SM_NUM_GPUS']", ("--lr", "1.10", "--opt=adam", "--fast"))
    common = found.environment
    assert common["SM_NUM_GPUS"] == "4"
    assert common["SM_MODEL_DIR"] == "/jobs/train-1/model"
    assert common["SM_OUTPUT_DATA_DIR"] == "/jobs/train-1/output/data"
    assert json.loads(common["SM_HOSTS"]) == ["host-1", "host-2"]
    assert json.loads(common["SM_HPS"]) == {"lr": 1.1, "opt": "adam"}
    assert (common["SM_HP_LR"], common["SM_HP_OPT"]) == ("1.1", "adam")
    assert json.loads(common["SM_USER_ARGS"]) == ["--lr", "1.10", "--opt=adam", "--fast"]
    assert json.loads(common["SM_CHANNELS"]) == []
    assert int(common["SM_NUM_CPUS"]) >= 1
    assert "SM_FRAMEWORK_PARAMS" not in common
    assert [own["SM_CURRENT_HOST"] for own in found.hosts.values()] == ["host-1", "host-2"]
    second = json.loads(found.hosts["host-2"]["SM_TRAINING_ENV"])
    assert (second["current_host"], second["is_master"]) == ("host-2", False)
    assert second["hyperparameters"] == {"lr": 1.1, "opt": "adam"}
    assert second["resource_config"] == json.loads(found.hosts["host-2"]["SM_RESOURCE_CONFIG"])


def test_a_channel_is_a_folder_of_this_machine(tmp_path: Path):
    found = of(tmp_path, "", channels={"train": str(tmp_path)})
    assert found.environment["SM_CHANNEL_TRAIN"] == str(tmp_path)
    assert json.loads(found.environment["SM_CHANNELS"]) == ["train"]
    assert found.problems == ()


def test_a_channel_without_its_folder_is_told(tmp_path: Path):
    absent = of(tmp_path, "", channels={"train": str(tmp_path / "absent")})
    assert [(p.rule, p.severity) for p in absent.problems] == [("local-channel", "error")]
    named = of(tmp_path, "os.environ.get('SM_CHANNEL_TEST')")
    assert [(p.severity, p.fix) for p in named.problems] == [("warning", "--channel test=FOLDER")]
    commented = of(tmp_path, "# os.environ['SM_CHANNEL_TEST']\nos.environ['SM_MODEL_DIR']")
    assert commented.problems == ()
    listed = of(tmp_path, "FIRST = 'SM_CHANNEL_TEST', 'SM_CHANNEL_TRAIN'\nos.environ['SM_HOSTS']")
    assert listed.problems == ()
    shell = of(tmp_path, 'os.system("ls ${SM_CHANNEL_TEST}")')
    assert [p.path for p in shell.problems] == ["SM_CHANNEL_TEST"]
    built = of(tmp_path, 'os.environ[f"SM_CHANNEL_{name}"]')
    assert built.problems == ()


def test_what_the_user_sets_wins(tmp_path: Path):
    given = {"SM_CHANNEL_TEST": "/data", "SM_NUM_GPUS": "1", "SM_CURRENT_HOST": "algo-1"}
    found = of(tmp_path, "SM_CHANNEL_TEST SM_NUM_GPUS SM_CURRENT_HOST", given=given)
    assert not set(given) & {*found.environment, *found.hosts["host-1"]}
    assert found.problems == ()


def test_one_row_says_what_is_set_and_what_is_not(tmp_path: Path):
    found = of(tmp_path, "SM_MODEL_DIR SM_HPS SM_INPUT_CONFIG_DIR SM_HP_LR")
    (row,) = found.rows
    assert (row.label, row.text) == ("SM_*", "SM_HPS, SM_MODEL_DIR")
    assert "train.py names" in row.origin
    assert "not set: SM_HP_LR, SM_INPUT_CONFIG_DIR" in row.origin


@pytest.mark.parametrize("text", ["", "SM_MODEL_DIR"])
def test_what_is_dropped_of_the_callers_environment_is_said(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SM_CHANNEL_TRAIN", "/outer")
    monkeypatch.setenv("SM_HPS", "{}")
    row = of(tmp_path, text, given={"SM_HPS": "{}"}).rows[-1]
    assert row.text == "dropped of this shell: SM_CHANNEL_TRAIN"
    assert "--env SM_CHANNEL_TRAIN=VALUE" in row.origin


def test_a_script_of_script_mode_runs_and_its_model_is_the_jobs(launch: Launch):
    launch.write("train.py", SAMPLE)
    launch.write("data/data.txt", "digits")
    answer = launch(
        "local", "train.py", "--channel", "train=data", "--json", "--", "--epochs", "3",
        SM_MODEL_DIR="/outer",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert "dropped of this shell: SM_MODEL_DIR" in answer.err
    (job,) = (launch.home / "jobs").iterdir()
    assert "READ digits 0" in (job / "logs/rank-0.log").read_text()
    assert (job / "model/result.txt").read_text() == "trained"
    assert (job / "output/data/result.txt").read_text() == "trained"


def test_the_jobs_own_folders_are_no_part_of_its_digest(launch: Launch):
    launch.write("train.py", SAMPLE)
    words = ["local", "train.py", "--env", "SM_CHANNEL_TRAIN=/data", "--dry-run"]
    names = {launch(*words, *more).json["name"] for more in ([], ["--output-path", "elsewhere"])}
    assert len(names) == 1
    assert launch(*words).json["environment"]["SM_CHANNEL_TRAIN"] == "/data"


def test_the_clouds_set_these_variables_themselves(launch: Launch):
    launch.write("train.py", SAMPLE)
    words = ["sagemaker", "train.py", "--gpus", "1", "--dry-run"]
    document = launch(*words).json
    assert not [name for name in document["Environment"] if name.startswith("SM_")]
    refused = launch(*words, "--env", "SM_NUM_GPUS=1")
    assert (refused.code, "a name that the launcher sets" in refused.err) == (2, True)
