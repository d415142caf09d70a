"""Our requests in the hands of SageMaker's real container toolkit: what reaches the script, and
which MPI options end a container well without any training."""

from __future__ import annotations

import ctypes.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from launchers.core.pipeline import Prepared
from launchers.core.shipped import runtime
from launchers.sagemaker.document import MPI_OPTIONS
from launchers.sagemaker.starts.mpi_options import problems_in
from launchers.sagemaker.tables import machines
from tests.sagemaker import toolkit
from tests.sagemaker.documents import prepared

pytestmark = pytest.mark.pip_network

ARGUMENTS = ("--lr", "1.10", "--flag", "--name", "a b", "-v", "-v", "file#1", "")
ENVIRONMENT = {"PLACE": "http://x/y#frag", "QUOTED": "q\"'", "LINES": "a\nb", "EMPTY": ""}

# Each rank leaves what it was given; with several, none ends before all have.
SCRIPT = """
import json, os, sys, time
rank = os.environ.get("OMPI_COMM_WORLD_RANK", "0")
size = int(os.environ["LAUNCH_WORLD_SIZE"])
with open(f"{os.environ['OUT']}/rank-{rank}.part", "w") as file:
    json.dump({"arguments": sys.argv[1:], "environment": dict(os.environ)}, file)
os.rename(file.name, file.name.replace(".part", ".json"))
deadline = time.monotonic() + 60
while len([name for name in os.listdir(os.environ["OUT"]) if name.endswith(".json")]) < size:
    assert time.monotonic() < deadline, "the other ranks left nothing"
    time.sleep(0.05)
"""


@pytest.fixture(scope="session", autouse=True)
def folder_of_the_toolkit() -> Path:
    return toolkit.installed()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def job(tmp_path: Path, out: Path, **asked: Any) -> Prepared:
    source = tmp_path / "project"
    source.mkdir()
    (source / "train.py").write_text(SCRIPT, encoding="utf-8")
    return prepared(
        script=str(source / "train.py"), gpus=0, arguments=ARGUMENTS,
        environment={**ENVIRONMENT, "OUT": str(out)}, strategy="horovod", **asked,
    )  # fmt: skip


def found(out: Path, rank: int = 0) -> dict[str, Any]:
    return json.loads((out / f"rank-{rank}.json").read_text(encoding="utf-8"))


def test_arguments_reach_the_script_verbatim_and_in_order(tmp_path: Path, out: Path):
    ended = toolkit.run(job(tmp_path, out, instances=1, processes=1), tmp_path)
    assert ended.code == 0, ended.output
    # The toolkit's own way has changed and sorted them by then: the guard does without it.
    assert ended.rank_command()[1:] == ["guard.py", "--lr", "1.1", "--name", "a b"]
    rank = subprocess.run(
        ended.rank_command(), env=ended.rank_environment(), cwd=tmp_path / "opt/ml/code",
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert rank.returncode == 0, rank.stderr
    assert "launch: proof: world size 1: 1 host x 1 rank, Horovod not used" in rank.stdout
    assert tuple(found(out)["arguments"]) == ARGUMENTS


def test_what_mpirun_carries_to_other_hosts_is_the_whole_environment(tmp_path: Path, out: Path):
    ready = job(tmp_path, out, instances=2, processes=4)
    ended = toolkit.run(ready, tmp_path)
    asked = ready.definition.document["Environment"]
    assert {**ENVIRONMENT, "LAUNCH_WORLD_SIZE": "8"}.items() <= asked.items()
    assert asked.items() <= ended.rank_environment().items()


def test_the_toolkit_starts_the_world_size_that_the_request_promises(tmp_path: Path, out: Path):
    ended = toolkit.run(job(tmp_path, out, instances=2, processes=4), tmp_path)
    assert ended.option("-np") == ["8"]
    assert ended.option("--host") == ["algo-1:4,algo-2:4"]


@pytest.mark.skipif(
    not (shutil.which("mpirun") and ctypes.util.find_library("mpi")),
    reason="Open MPI is not installed (Debian: apt-get install openmpi-bin)",
)
def test_two_ranks_of_the_real_mpirun_get_arguments_and_environment(tmp_path: Path, out: Path):
    """The script never calls hvd.init(), so the guard fails the job at its end."""
    ended = toolkit.run(job(tmp_path, out, instances=1, processes=2), tmp_path, real_mpirun=True)
    for rank in (0, 1):
        assert (out / f"rank-{rank}.json").is_file(), ended.output
        assert tuple(found(out, rank)["arguments"]) == ARGUMENTS
        assert ENVIRONMENT.items() <= found(out, rank)["environment"].items()
    assert "ended without ever having called hvd.init()" in ended.output
    assert ended.code != 0


# What is refused in sagemaker_mpi_custom_mpi_options because a container would end well with it.
ENDS_WELL_WITHOUT_TRAINING = [
    "-h", "--help", "-host a", "-hostfile x", "-he", "-x A=b -host a", "--mca a -h",
]  # fmt: skip
REACHES_MPIRUN = ["-x A=b", "--mca btl_base_verbose 1", "-mca btl_base_verbose 1", "-verbose"]


def with_options(tmp_path: Path, out: Path, options: str) -> toolkit.Outcome:
    ready = job(tmp_path, out, instances=1, processes=2)
    return toolkit.run(ready, tmp_path, {MPI_OPTIONS: json.dumps(options)})


@pytest.mark.parametrize("options", ENDS_WELL_WITHOUT_TRAINING)
def test_an_option_that_the_toolkits_parser_takes_ends_the_container_well_without_mpirun(
    tmp_path: Path, out: Path, options: str
):
    ended = with_options(tmp_path, out, options)
    assert (ended.code, ended.command) == (0, None)
    assert problems_in(options, "$") != []


@pytest.mark.parametrize("options", REACHES_MPIRUN)
def test_an_option_of_the_allow_list_reaches_mpirun(tmp_path: Path, out: Path, options: str):
    ended = with_options(tmp_path, out, options)
    assert ended.code == 0
    assert f" {options} " in " ".join(ended.command or [])
    assert problems_in(options, "$") == []


def test_a_value_with_a_blank_is_split_and_so_refused(tmp_path: Path, out: Path):
    ended = with_options(tmp_path, out, '-x A="b c"')
    assert ended.command is not None
    assert {'A="b', 'c"'} <= set(ended.command)
    assert problems_in('-x A="b c"', "$") != []


@pytest.mark.parametrize(
    ("changed", "ranks"),
    [
        ({"sagemaker_mpi_num_processes": "1"}, ["1"]),  # over hosts x processes
        ({"sagemaker_mpi_enabled": '"false"'}, ["2"]),  # a text that is not empty is true
    ],
)
def test_the_parameters_that_check_refuses_do_what_it_says(
    tmp_path: Path, out: Path, changed: dict[str, str], ranks: list[str]
):
    ended = toolkit.run(job(tmp_path, out, instances=1, processes=2), tmp_path, changed)
    assert ended.option("-np") == ranks


def test_without_mpi_every_host_runs_a_job_of_its_own_and_reports_success(
    tmp_path: Path, out: Path
):
    """The bug that this launcher began with, and how the guard ends it."""
    ready = job(tmp_path, out, instances=2, processes=1)
    plain = {"sagemaker_mpi_enabled": "false", "sagemaker_program": '"src/train.py"'}
    (out / "rank-1.json").write_text("{}")
    alone = toolkit.run(ready, tmp_path, plain)
    assert (alone.code, alone.command) == (0, None)
    assert "Reporting training SUCCESS" in alone.output
    shutil.rmtree(tmp_path / "opt")
    guarded = toolkit.run(ready, tmp_path, {"sagemaker_mpi_enabled": "false"})
    assert guarded.code != 0
    assert "expected world size 2" in guarded.output


def test_a_failure_that_cannot_be_written_down_ends_the_container_well(tmp_path: Path, out: Path):
    """As on a full disk. So a job's success must not be read from the exit code alone."""
    (tmp_path / "opt/ml/output").mkdir(parents=True)
    (tmp_path / "opt/ml/output/failure").symlink_to(tmp_path / "none/such")
    ready = job(tmp_path, out, instances=2, processes=1)
    ended = toolkit.run(ready, tmp_path, {"sagemaker_mpi_enabled": "false"})
    assert ended.code == 0
    assert "launch: failure: " in ended.output


def test_the_table_has_the_machines_that_the_toolkit_sets_up_for_efa():
    code = "import sagemaker_training as t, json; print(json.dumps(t.SM_EFA_NCCL_INSTANCES))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(toolkit.installed())},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    table = json.loads((Path(machines.__file__).with_name("machines.json")).read_bytes())
    assert table["efa_by_toolkit"]["5.1.4"] == json.loads(done.stdout)


# Where our agent's variables are others than the toolkit's, each with its reason.
OTHERS = {
    "SM_STUDIO_LOCAL_MODE": "a switch of this test's own",
    "SM_USER_ARGS": "the script's exact arguments, which the toolkit changes",
    "SM_TRAINING_ENV": "all of its properties, those that steer the toolkit among them",
    "SM_FRAMEWORK_MODULE": "of an image whose toolkit runs",
    "SM_NUM_NEURONS": "of machines that no strategy of ours uses",
}


def test_a_script_under_our_agent_finds_the_variables_that_the_toolkit_sets(
    tmp_path: Path, out: Path
):
    channels = {"train": "s3://b/train", "test-set": "s3://b/test"}
    ended = toolkit.run(job(tmp_path, out, instances=1, processes=1, channels=channels), tmp_path)
    theirs = {name: value for name, value in ended.environment.items() if name.startswith("SM_")}
    tree = runtime("host.sagemaker.tree").Tree(str(tmp_path / "opt/ml"))
    made = runtime("host.sagemaker.variables").variables(tree, ARGUMENTS, theirs["SM_MODULE_DIR"])
    different = {name for name in theirs | made if theirs.get(name) != made.get(name)}
    assert different == set(OTHERS)
    whole = json.loads(theirs["SM_TRAINING_ENV"])
    ours = json.loads(made["SM_TRAINING_ENV"])
    assert {name for name in ours if name in whole and ours[name] != whole[name]} == set()
    assert {"channel_input_dirs", "hyperparameters", "hosts", "model_dir"} <= set(ours) & set(whole)
