"""A request that starts something else than the toolkit: its world size is not what it seems."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.problems import errors
from launchers.sagemaker.rules.document import check
from launchers.sagemaker.starts.read import start_of
from tests.cli.command import Launch
from tests.sagemaker import released, toolkit
from tests.sagemaker.documents import captured, plain
from tests.sagemaker.starts.test_starts import STARTS

MODEL_TRAINER = (
    Path(__file__).parents[1] / "captured" / "sagemaker-3.27.0" / "modeltrainer_mpi_2hosts.json"
)
PATH = "$.AlgorithmSpecification.ContainerEntrypoint"


def model_trainer(hosts: int = 2) -> dict[str, Any]:
    """What ModelTrainer(distributed=MPI(process_count_per_node=4)) sends."""
    document = json.loads(MODEL_TRAINER.read_text(encoding="utf-8"))
    document["ResourceConfig"]["InstanceCount"] = hosts
    return document


def starting(document: dict[str, Any], *entrypoint: str, **arguments: list[str]) -> dict[str, Any]:
    algorithm = document["AlgorithmSpecification"]
    if entrypoint:
        algorithm["ContainerEntrypoint"] = list(entrypoint)
    return document | {"AlgorithmSpecification": {**algorithm, **arguments}}


def without_mpi(document: dict[str, Any]) -> dict[str, Any]:
    for name in [name for name in document["HyperParameters"] if "_mpi_" in name]:
        del document["HyperParameters"][name]
    return document


def test_check_of_what_sdk_3_sends_for_mpi_on_two_hosts_names_the_cause(launch: Launch):
    answer = launch("check", str(MODEL_TRAINER))
    assert answer.code == 2
    told = " ".join(answer.err.split())
    assert "-np <ranks per host> instead of 2 times that" in told
    assert "all ranks land on the first host" in told
    assert "cannot tell what it starts: " in told
    as_json = launch("check", str(MODEL_TRAINER), "--world-size", "8", "--json")
    assert as_json.code == 2
    failed = [one for one in as_json.json["problems"] if one["severity"] == "error"]
    assert [(one["path"], one["rule"]) for one in failed] == [(PATH, "world-size")]


@pytest.mark.parametrize(
    ("document", "meant", "severities"),
    [
        (model_trainer(), None, ["error"]),
        (model_trainer(), 8, ["error"]),
        (model_trainer(), 4, ["error"]),  # the first host has them all, the second is paid for
        (model_trainer(hosts=1), None, []),
        (model_trainer(hosts=1), 1, []),
        (model_trainer(hosts=1), 4, ["unknown"]),
        (starting(plain(), "python", "/opt/train.py"), None, ["error"]),
        (starting(plain(), ContainerArguments=["serve"]), None, ["error"]),
        (starting(captured("v2_tf_mpi_minimal.json"), "torchrun", "x.py"), 8, ["error"]),
        (starting(without_mpi(captured("v2_tf_mpi_minimal.json")), "torchrun"), None, ["error"]),
        # The toolkit after all.
        (starting(plain(), "train"), None, []),
        (starting(plain(), "bash", "start.sh", ContainerArguments=["train"]), 8, []),
        (starting(plain(), ContainerArguments=["/usr/local/bin/train"]), 8, []),
    ],
)
def test_the_world_size_of_a_command_of_ones_own_is_told(
    document: dict[str, Any], meant: int | None, severities: list[str]
):
    problems = [one for one in check(document, meant) if one.rule == "world-size"]
    assert [one.severity for one in problems] == severities
    assert all(one.path == PATH for one in problems)
    assert bool(errors(check(document, meant))) == ("error" in severities)


def test_the_world_size_that_a_command_of_ones_own_starts_is_not_guessed():
    assert start_of(model_trainer()).ranks is None
    assert start_of(starting(plain(), "bash", "x.sh")).ranks is None
    assert start_of(starting(plain(), "train")).ranks == 8


@pytest.mark.parametrize("value", [None, 1, "bash", [], [1, None], {"a": "b"}])
@pytest.mark.parametrize("key", ["ContainerEntrypoint", "ContainerArguments"])
def test_no_malformed_command_makes_a_rule_fail(key: str, value: Any):
    document = plain()
    document["AlgorithmSpecification"][key] = value
    check(document, 8)


def test_a_start_that_containers_cannot_show_is_one_line_of_a_rehearsal(launch: Launch):
    launch.write("job.json", json.dumps(STARTS["smdistributed"][0]))
    answer = launch("rehearse", "job.json")
    assert answer.code == 2
    (line,) = answer.err.strip().splitlines()
    assert "[rehearsal-start]" in line
    assert "smdistributed's mpirun over 2 hosts x 8 processes" in line


# Runs the driver's own main(); what it would do to the machine is replaced.
_DRIVER = """
import json, sys
sys.path.insert(0, sys.argv[1])
from distributed_drivers import mpi_driver
for name in ("write_env_vars_to_file", "start_sshd_daemon", "bootstrap_master_node",
             "write_status_file_to_workers"):
    assert hasattr(mpi_driver, name)
    setattr(mpi_driver, name, lambda *_: None)
mpi_driver.execute_commands = lambda command: (print(json.dumps(command)), (0, ""))[1]
mpi_driver.main()
"""


@pytest.mark.pip_network
def test_sdk_3s_own_driver_starts_the_ranks_of_one_host_for_two(tmp_path: Path):
    """The rule's ground: the driver that the captured request brings into its containers."""
    package = released.installed("sagemaker-train==1.27.0", dependencies=False)
    drivers = package / "sagemaker/train/container_drivers"
    done = subprocess.run(
        [sys.executable, "-S", "-c", _DRIVER, str(drivers)],
        env={
            "PYTHONPATH": str(toolkit.installed()),  # for paramiko
            "SM_ENTRY_SCRIPT": "train.py",
            "SM_DISTRIBUTED_CONFIG": json.dumps(
                {"process_count_per_node": 4, "mpi_additional_options": None}
            ),
            "SM_HPS": '{"epochs": 3}', "SM_CURRENT_HOST": "algo-1", "SM_MASTER_ADDR": "algo-1",
            "SM_HOSTS": '["algo-1", "algo-2"]', "SM_HOST_COUNT": "2",
            "SM_CURRENT_INSTANCE_TYPE": "ml.p3.8xlarge",
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    command = json.loads(done.stdout.splitlines()[-1])
    assert command[command.index("--host") + 1] == "algo-1:4,algo-2:4"
    assert command[command.index("-np") + 1] == "4"
