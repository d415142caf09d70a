"""The rules of a CustomJob: every broken one is told, with its path."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from launchers.core.model.problems import errors
from launchers.vertex.rules import document as rules
from launchers.vertex.rules.document import (
    as_custom_job,
    check,
    check_as_given,
    check_location,
    recognises,
    world,
)
from launchers.vertex.rules.starts import carried_strategy, plain_program_of, program_of
from launchers.vertex.rules.world_size import horovod_line
from tests.vertex.documents import CAPTURED, through_the_client
from tests.vertex.rules.changed_documents import documents
from tests.vertex.rules.rule_rows import (
    BASES,
    IMAGE,
    MEETING,
    ONE_PROCESS,
    POOL,
    RESERVATION,
    RULES,
    SERVERS,
    WORKERS,
    Change,
    Document,
    alone,
    both,
    captured,
    cut,
    env,
    foreign,
    ours,
    put,
)


def _at(path: str) -> str:
    """``$.jobSpec.workerPoolSpecs[0].x`` of ``jobSpec.workerPoolSpecs.0.x``."""
    return "$." + re.sub(r"\.(\d)\b", r"[\1]", path)


@pytest.mark.parametrize(
    ("base", "change", "path", "rule", "severity"),
    [pytest.param(case[1], *case[3:], id=case[0]) for case in RULES],
)
def test_a_broken_rule_is_told_with_its_path(
    base: str, change: Change, path: str, rule: str, severity: str
):
    document = BASES[base]()
    change(document)
    before = copy.deepcopy(document)
    problems = check(document)
    found = [(problem.path, problem.rule, problem.severity) for problem in problems]
    assert (_at(path), rule, severity) in found
    assert len(set(problems)) == len(problems)
    assert document == before


@pytest.mark.parametrize(
    ("base", "change", "path", "rule"),
    [
        pytest.param(case[1], case[2], case[4], case[5], id=case[0])
        for case in RULES
        if case[2] != case[3]
    ],
)
def test_a_kept_rule_is_not_told(base: str, change: Change, path: str, rule: str):
    document = BASES[base]()
    change(document)
    assert (_at(path), rule) not in [(problem.path, problem.rule) for problem in check(document)]


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("replicaCount", -2, "pool-replicas"),
        ("replicaCount", 10**30, "model-range"),
        ("machineSpec.acceleratorCount", -2, "accelerator-count"),
        ("machineSpec.acceleratorCount", 10**30, "model-range"),
    ],
)
def test_a_count_that_is_none_is_one_problem(field: str, value: int, told: str):
    document = ours()
    put(f"{WORKERS}.{field}", value)(document)
    assert [(one.path, one.rule) for one in errors(check(document))] == [
        (_at(f"{WORKERS}.{field}"), told)
    ]
    assert world(document).started in (None, world(ours()).started)


def test_every_rule_has_a_row():
    """By the names in the modules' text; those of the shape have rows of their own."""
    folder = Path(rules.__file__).parent
    named = {
        name
        for module in folder.glob("*.py")
        for name in re.findall(r'RULES\["([a-z-]+)"\]', module.read_text(encoding="utf-8"))
        if not name.startswith("model-")
    }
    tried = {case[5] for case in RULES} | {"location", "python-names"}
    assert len(named) > 40
    assert named - tried == set()


@pytest.mark.parametrize("make", BASES.values(), ids=BASES)
def test_our_own_request_and_the_clients_break_no_rule(make: Callable[[], Document]):
    wrong = [problem.rule for problem in errors(check(make()))]
    # The captured request does start several jobs.
    assert wrong == (["world-size"] if make is foreign else [])


def test_our_own_request_has_no_warning():
    assert check(ours()) == []


CAPTURED_ONES = {
    "n1_4xT4": (4, set()),
    "a3_flex_start": (8, set()),
    "chief_3workers": (4, {"world-size"}),
}


@pytest.mark.parametrize("name", CAPTURED_ONES)
def test_what_the_client_sends_breaks_no_rule_of_ours(name: str):
    started, wrong = CAPTURED_ONES[name]
    document = captured(name)
    problems = check(document)
    assert {problem.rule for problem in problems} == wrong
    assert errors(problems) == problems
    assert world(document).started == started


def test_four_replicas_that_each_start_four_ranks_are_four_jobs():
    found = {problem.rule: problem for problem in check(foreign())}["world-size"]
    assert "4 jobs of world size 4 that know nothing of each other" in found.found
    assert found.expected == "one job of world size 16"
    assert "launch vertex --instances 4 --gpus 4 " in found.fix
    for meant, fix in ((16, "--instances 4 --gpus 4 "), (8, "--instances 4 --gpus 2 ")):
        (error,) = errors(check(foreign(), meant))
        assert (error.rule, fix in error.fix) == ("world-size", True)
    (error,) = errors(check(foreign(), 4))
    assert "one replica is enough" in error.fix


@pytest.mark.parametrize(
    ("meant", "replicas", "gpus", "line"),
    [
        (8, 2, 4, "--instances 2 --gpus 4"),
        (4, 2, 4, "--instances 2 --gpus 2"),
        (6, 2, 4, "--instances 2 --gpus 4 --processes 3"),
        (3, 2, 4, "--instances 1 --gpus 4 --processes 3"),
        (5, 4, 1, "--instances 5 --gpus 1"),
        (8, 2, 0, "--instances 2 --gpus 0 --processes 4"),
        (3, 2, 0, "--instances 3 --gpus 0 --processes 1"),
        (2, 4, 0, "--instances 2 --gpus 0 --processes 1"),
        (7, 2, 8, "--instances 1 --gpus 8 --processes 7"),
        (1, 2, 4, "--instances 1 --gpus 1"),
        (64, 2, 4, "--instances 4 --gpus 16"),
    ],
)
def test_the_advice_starts_as_many_ranks_as_were_meant(
    meant: int, replicas: int, gpus: int, line: str
):
    assert horovod_line(meant, replicas, gpus) == f"launch vertex {line}"


def test_the_callers_world_size_must_agree_with_the_documents_own():
    problems = errors(check(ours(), 4))
    assert [(problem.path, problem.rule) for problem in problems] == [
        ("--world-size", "world-size")
    ]
    assert check(ours(), 8) == []


MEET = "--node_rank=$RANK --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT t.py"
# A command in each of four replicas with four GPUs: the world size, and words of why.
REPLICAS: list[tuple[list[str], int | None, str]] = [
    (["bash", "-c", f"torchrun --nnodes=4 --nproc_per_node=4 {MEET}"], 16, "4 hosts x 4"),
    (["bash", "-c", f"torchrun --nnodes=$WORLD_SIZE --nproc-per-node=gpu {MEET}"], 16, "4 hosts"),
    (["horovodrun", "-np", "16", "-H", "a:4,b:4,c:4,d:4", "python", "t.py"], None, "list of hosts"),
    (["python", "t.py"], None, "TF_CONFIG"),
    (["bash", "start.sh"], None, "start.sh"),
    (["torchrun", "t.py"], 1, "4 jobs of world size 1"),
    (["torchrun", "--nnodes=4", "--nproc_per_node=4", "t.py"], None, "waits for itself"),
]


@pytest.mark.parametrize(("command", "started", "why"), REPLICAS, ids=[str(c[0]) for c in REPLICAS])
def test_what_the_replicas_start_is_said_with_its_reason(
    command: list[str], started: int | None, why: str
):
    document = foreign()
    both("containerSpec", {"imageUri": IMAGE, "command": command[:1], "args": command[1:]})(
        document
    )
    found = world(document)
    assert (found.started, why in found.because) == (started, True)
    broken = [problem for problem in check(document) if problem.rule == "world-size"]
    assert bool(errors(broken)) == ("jobs of" in why or "waits" in why)
    assert len(broken) == bool(broken)


def running(base: Document, *command: str) -> Document:
    """``base`` with a command of its own in each pool with ranks."""
    for pool in base["jobSpec"]["workerPoolSpecs"]:
        pool["containerSpec"] = {"imageUri": IMAGE, "command": [*command]}
    return base


def told(document: Document, rule: str, meant: int | None = None) -> list[tuple[str, str, str]]:
    """What was found, what is expected and how it is mended, of each problem of a rule."""
    return [
        (one.found, one.expected, one.fix) for one in check(document, meant) if one.rule == rule
    ]


MEETING_LINE = (
    "behind `bash -c`: torchrun --nnodes=4 --nproc_per_node={} "
    "--node_rank=$RANK --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"
)


@pytest.mark.parametrize(
    ("meant", "size", "each"), [(None, 16, 4), (16, 16, 4), (8, 8, 2), (6, 6, 4)]
)
def test_copies_of_torchrun_are_shown_the_line_that_makes_one_job_of_them(
    meant: int | None, size: int, each: int
):
    document = running(foreign(), "torchrun", "t.py")
    (found,) = told(document, "world-size", meant)
    assert found[0].endswith("and the job succeeds when the primary replica's does")
    assert found[1:] == (f"one job of world size {size}", MEETING_LINE.format(each))


@pytest.mark.parametrize(("meant", "size"), [(None, 4), (1, 1), (4, 4)])
def test_copies_of_an_unknown_number_of_ranks_are_meant_as_one_each_where_no_gpu_says_more(
    meant: int | None, size: int
):
    document = running(foreign(), "torchrun", "--nproc_per_node=cpu", "t.py")
    for pool in document["jobSpec"]["workerPoolSpecs"]:
        pool["machineSpec"] = {"machineType": "n1-standard-8"}
    (found,) = told(document, "world-size", meant)
    assert found[1:] == (f"one job of world size {size}", MEETING_LINE.format(1))


def test_another_world_size_than_ours_is_told_with_hosts_and_ranks():
    document = ours()
    for pool in document["jobSpec"]["workerPoolSpecs"]:
        for variable in pool["containerSpec"]["env"]:
            if variable["name"] == "LAUNCH_WORLD_SIZE":
                variable["value"] = "5"
    assert {found[:2] for found in told(document, "world-size")} == {
        ("5", "2 hosts x 4 ranks = world size 8")
    }


def test_the_advice_for_copies_is_for_those_that_start_them_and_not_for_a_pool_that_waits():
    document = running(foreign(), "horovodrun", "-np", "2", "python", "t.py")
    put(f"{POOL}.containerSpec.command", ["sleep", "infinity"])(document)
    (found,) = told(document, "world-size")
    assert "horovodrun -np 2 on each of 3 replicas: 3 jobs of world size 2" in found[0]
    assert "launch vertex --instances 3 --gpus 4 " in found[2]


def test_torchrun_whose_primary_replica_waits_is_shown_no_line_that_meets_there():
    document = running(foreign(), "torchrun", "t.py")
    put(f"{POOL}.containerSpec.command", ["sleep", "infinity"])(document)
    (found,) = told(document, "world-size")
    assert "3 jobs of world size 1" in found[0]
    assert found[2] == "let the primary replica start it too: MASTER_ADDR is its address"


def test_torchrun_whose_workers_wait_needs_no_other_host():
    document = running(foreign(), "torchrun", "--nnodes=4", "--master_addr=h", "t.py")
    put(f"{WORKERS}.containerSpec.command", ["sleep", "infinity"])(document)
    (found,) = told(document, "world-size")
    assert "4 hosts are waited for, and 1" in found[0]
    assert found[2] == "on one replica torchrun needs no --nnodes"


def test_the_line_for_torchrun_takes_the_primary_replicas_gpus():
    document = running(foreign(), "torchrun", "t.py")
    put(f"{WORKERS}.machineSpec", {"machineType": "n1-standard-8"})(document)
    assert told(document, "world-size")[0][2] == MEETING_LINE.format(4)


def test_two_copies_of_torchrun_are_shown_the_line_for_two():
    document = running(foreign(), "torchrun", "t.py")
    put(f"{WORKERS}.replicaCount", "1")(document)
    (found,) = told(document, "world-size")
    assert found[2] == MEETING_LINE.replace("=4 ", "=2 ", 1).format(4)


@pytest.mark.parametrize(
    ("meant", "expected"), [(None, "one job of all replicas"), (8, "a world size of 8")]
)
def test_torchrun_that_waits_for_others_on_one_replica_is_told_so(meant: int | None, expected: str):
    line = ("torchrun", "--nnodes=2", "--master_addr=h", "t.py")
    (found,) = told(running(captured("n1_4xT4"), *line), "world-size", meant)
    assert "2 hosts are waited for, and 1" in found[0]
    assert found[1:] == (expected, "on one replica torchrun needs no --nnodes")


def test_two_replicas_know_their_number_and_one_replica_is_told_none():
    script = ("bash", "-c", f"torchrun --nnodes=$WORLD_SIZE --nproc_per_node=4 {MEET}")
    document = running(foreign(), *script)
    put(f"{WORKERS}.replicaCount", "1")(document)
    assert world(document).started == 8
    assert world(running(captured("n1_4xT4"), *script)).started is None


def test_another_world_size_than_the_one_that_starts_is_told_with_both():
    document = running(captured("n1_4xT4"), "horovodrun", "-np", "4", "python", "t.py")
    assert told(document, "world-size", 4) == []
    (found,) = told(document, "world-size", 8)
    assert found[:2] == (
        "it starts a world size of 4: horovodrun -np 4 on one replica",
        "world size 8",
    )


def test_one_rank_may_be_meant_where_nothing_can_be_read():
    document = running(captured("n1_4xT4"), "./start.sh")
    assert told(document, "world-size", 1) == []
    assert len(told(document, "world-size", 2)) == 1


@pytest.mark.parametrize(
    ("command", "ranks", "rule", "severity", "found"),
    [
        ("horovodrun -np", 5, "ranks-above-gpus", "error", "5 on a replica with 4 GPUs"),
        ("torchrun --nproc_per_node", 5, "ranks-above-gpus", "warning", "5 on a replica"),
        ("horovodrun -np", 3, "ranks-below-gpus", "warning", "3 on a replica with 4 GPUs"),
    ],
)
def test_a_pools_start_is_told_once_for_all_pools_that_start_the_same(
    command: str, ranks: int, rule: str, severity: str, found: str
):
    document = running(foreign(), *command.split(), str(ranks), "python", "t.py")
    (one,) = [problem for problem in check(document) if problem.rule == rule]
    assert (one.severity, found in one.found) == (severity, True)
    idle = "1 GPU of each replica stay idle, and are paid for"
    assert (one.fix == idle) == (rule == "ranks-below-gpus")


def test_ranks_on_a_machine_that_no_table_knows_are_held_against_no_gpus():
    document = running(captured("n1_4xT4"), "horovodrun", "-np", "4", "python", "t.py")
    put(f"{POOL}.machineSpec", {"machineType": "n9-standard-8"})(document)
    assert told(document, "ranks-above-gpus") == []


@pytest.mark.parametrize("pool", [POOL, WORKERS])
def test_replicas_that_are_no_number_are_held_against_none(pool: str):
    document = ours()
    put(f"{pool}.replicaCount", "two")(document)
    assert told(document, "world-size") == []
    assert world(document).started is None
    assert "the number of replicas" in world(document).because


def test_a_launcher_in_a_pool_beside_the_ranks_is_told_too():
    document = foreign()
    pools = document["jobSpec"]["workerPoolSpecs"]
    pools.append(copy.deepcopy(pools[1]))
    pools[2]["containerSpec"] = {
        "imageUri": IMAGE,
        "command": ["horovodrun", "-np", "8", "python", "t.py"],
    }
    found = [(one.path, one.rule) for one in check(document)]
    assert (_at(f"{SERVERS}.containerSpec"), "ranks-above-gpus") in found


def test_a_parameter_server_is_no_rank_of_the_other_pools_job():
    document = foreign()
    MEETING(document)
    server = copy.deepcopy(document["jobSpec"]["workerPoolSpecs"][1])
    server["containerSpec"] = {"imageUri": IMAGE, "command": ["python", "server.py"]}
    document["jobSpec"]["workerPoolSpecs"].append(server)
    assert (world(document).started, told(document, "world-size", 16)) == (16, [])


@pytest.mark.parametrize(
    ("ranks", "started", "why"),
    [(1, 1, "each process sees one MIG instance"), (2, None, "NCCL refuses two ranks")],
)
@pytest.mark.parametrize("gpus", [1, 8])
def test_one_process_a_replica_is_all_that_mig_instances_take(
    gpus: int, ranks: int, started: int | None, why: str
):
    document = running(foreign(), "torchrun", f"--nproc_per_node={ranks}", "t.py")
    alone(document)
    cut(f"a2-ultragpu-{gpus}g", "NVIDIA_A100_80GB", gpus, "1g.10gb")(document)
    assert (world(document).started, why in world(document).because) == (started, True)
    assert bool(told(document, "partition-ranks")) == (ranks > 1)


def test_our_agents_world_spans_hosts_where_there_are_several():
    document = ours()
    assert (world(document).started, world(document).spans) == (8, True)
    assert world(document).because == "our agent on 2 replicas x 4 processes"
    alone(document)
    assert (world(document).started, world(document).spans) == (4, False)


@pytest.mark.parametrize(
    ("command", "launched", "plain"),
    [
        ("python -u train.py --x", (), ("train.py", "--x")),
        ("python -m trainer", (), ("-m", "trainer")),
        ("python -u", (), ()),
        ("horovodrun -np 4 python train.py -v", ("train.py", "-v"), ("train.py", "-v")),
        ("torchrun train.py", (), ()),
    ],
)
def test_the_program_of_the_ranks_is_found_behind_interpreter_and_launcher(
    command: str, launched: tuple[str, ...], plain: tuple[str, ...]
):
    document = running(foreign(), *command.split())
    assert (program_of(document), plain_program_of(document)) == (launched, plain)
    document["jobSpec"]["workerPoolSpecs"][1]["containerSpec"]["command"] = ["python", "b.py"]
    assert plain_program_of(document) == ()


@pytest.mark.parametrize(
    ("package", "program"),
    [
        ({"pythonModule": "trainer.task"}, ("-m", "trainer.task")),
        ({"pythonModule": "t", "args": ["--x", "1"]}, ("-m", "t", "--x", "1")),
        ({}, ()),
        (None, ()),
    ],
)
def test_the_program_of_a_python_package_is_its_module(
    package: Document | None, program: tuple[str, ...]
):
    document = captured("n1_4xT4")
    put(f"{POOL}.containerSpec", ...)(document)
    if package is not None:
        put(f"{POOL}.pythonPackageSpec", package)(document)
    assert (program_of(document), plain_program_of(document)) == ((), program)


def test_the_program_of_our_own_document_is_what_its_first_pool_gives_to_the_agent():
    document = ours()
    program = program_of(document)
    assert program
    for pool in document["jobSpec"]["workerPoolSpecs"][1:]:
        pool["containerSpec"] = {"imageUri": IMAGE, "command": ["python", "b.py"]}
    assert program_of(document) == program


def test_a_start_that_cannot_be_read_is_unknown_where_a_world_size_is_meant():
    document = captured("n1_4xT4")
    put(f"{POOL}.containerSpec", {"imageUri": IMAGE})(document)
    assert "world-size" not in {problem.rule for problem in check(document)}
    (found,) = [problem for problem in check(document, 4) if problem.rule == "world-size"]
    assert (found.severity, found.expected) == ("unknown", "world size 4")


def test_what_packages_on_several_replicas_start_cannot_be_told():
    document = captured("chief_3workers")
    package = {
        "executorImageUri": "us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-12.py310:latest",
        "packageUris": ["gs://b/trainer.tar.gz"],
        "pythonModule": "trainer.task",
    }
    for pool in document["jobSpec"]["workerPoolSpecs"]:
        del pool["containerSpec"]
        pool["pythonPackageSpec"] = package
    assert world(document).started is None
    assert "python -m trainer.task on each of 4 replicas" in world(document).because
    assert check(document) == []
    (found,) = check(document, 16)
    assert (found.rule, found.severity) == ("world-size", "unknown")


def test_a_package_whose_module_is_a_launcher_starts_what_its_arguments_say():
    document = captured("n1_4xT4")
    put(f"{POOL}.containerSpec", ...)(document)
    package = {"pythonModule": "torch.distributed.run", "args": ["--nproc_per_node=4", "t.py"]}
    put(f"{POOL}.pythonPackageSpec", package)(document)
    assert world(document).started == 4


@pytest.mark.parametrize(
    ("package", "why"),
    [
        ({}, "no Python package with a module"),
        ({"pythonModule": "t"}, "python -m t, one process; each process sees one MIG instance"),
    ],
)
def test_a_package_is_read_with_its_module_and_its_share_of_a_gpu(package: Document, why: str):
    document = captured("n1_4xT4")
    put(f"{POOL}.containerSpec", ...)(document)
    put(f"{POOL}.pythonPackageSpec", package)(document)
    cut("a2-ultragpu-1g", "NVIDIA_A100_80GB", 1, "1g.10gb")(document)
    assert why in world(document).because


@pytest.mark.parametrize(
    ("first", "second", "found", "expected"),
    [
        ("1", "2", "another value than in the first pool", "the same in both"),
        ("1", None, "missing", "the same in both"),
        (None, "2", "another value than in the first pool", "no such variable, as there"),
    ],
)
def test_a_variable_that_differs_between_pools_is_told_as_what_it_is(
    first: str | None, second: str | None, found: str, expected: str
):
    document = ours()
    env("A", first, POOL)(document)
    env("A", second, WORKERS)(document)
    (problem,) = [one for one in check(document) if one.rule == "pools-unlike"]
    assert (problem.found, problem.expected) == (found, expected)


def test_a_document_of_one_process_a_host_starts_a_replica_on_each_gpu():
    document = ours()
    ONE_PROCESS(document)
    assert (world(document).started, errors(check(document))) == (8, [])
    assert world(document).because == "our agent on 2 replicas x 1 process with 4 GPUs"


def test_the_strategy_of_our_own_document_is_the_first_pools():
    document = ours()
    ONE_PROCESS(document)
    assert carried_strategy(document) == "tensorflow"
    assert carried_strategy({}) == ""


def test_all_problems_are_told_at_once():
    document = ours()
    together = ("a label's key", "the bundle's hash", "a disk's type", "no TPU", "a variable once")
    chosen = [case for case in RULES if case[0] in together]
    for case in chosen:
        case[3](document)
    found = {problem.path for problem in check(document)}
    assert {_at(case[4]) for case in chosen} <= found


def test_a_rule_about_our_own_way_is_none_in_a_document_that_is_not_ours():
    document = ours()
    for pool in document["jobSpec"]["workerPoolSpecs"]:
        container = pool["containerSpec"]
        container["env"] = [
            item for item in container["env"] if not item["name"].startswith("LAUNCH_")
        ]
        container["command"] = ["python3", "-c", "print(1)"]
    assert check(document) == []


def test_a_flagged_value_may_be_let_pass_by_name():
    document = ours()
    env("API_TOKEN", "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345")(document)
    assert errors(check(document)) != []
    assert check(document, allowed_values=frozenset({"API_TOKEN"})) == []


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ("encryptionSpec.kmsKeyName", "projects/p/locations/{}/keyRings/r/cryptoKeys/k"),
        ("jobSpec.tensorboard", "projects/p/locations/{}/tensorboards/1"),
        (
            "jobSpec.pscInterfaceConfig.networkAttachment",
            "projects/p/regions/{}/networkAttachments/n",
        ),
    ],
)
def test_what_the_job_names_lies_where_the_job_runs(keys: str, place: str):
    document = ours()
    put(keys, place.format("us-central1"))(document)
    assert check_location(document, "us-central1") == []
    (problem,) = check_location(document, "europe-west4")
    assert (problem.path, problem.rule) == (f"$.{keys}", "location")


def test_a_reservation_lies_where_the_job_runs():
    document = ours()
    named = {"reservationAffinityType": "SPECIFIC_RESERVATION", "key": "k"}
    where = f"{POOL}.machineSpec.reservationAffinity"
    put(where, {**named, "values": [RESERVATION]})(document)
    put(where.replace("0", "1"), {**named, "values": [RESERVATION, "other"]})(document)
    assert check_location(document, "us-central1") == []
    (problem,) = check_location(document, "europe-west4")
    assert (problem.path, problem.rule) == (_at(f"{where}.values.0"), "location")


def test_the_content_of_a_gcloud_config_is_wrapped():
    request = json.loads((CAPTURED / "chief_3workers.json").read_text(encoding="utf-8"))
    before = copy.deepcopy(request)
    job = as_custom_job(request["jobSpec"])
    assert set(job) == {"displayName", "jobSpec"}
    assert job["jobSpec"] == as_custom_job(request)["jobSpec"]
    machine_spec = job["jobSpec"]["workerPoolSpecs"][0]["machineSpec"]
    assert machine_spec["acceleratorType"] == "NVIDIA_TESLA_T4"
    assert {problem.rule for problem in check(job)} == {"world-size"}
    assert request == before


def test_problems_of_a_gcloud_config_have_its_own_paths():
    spec = captured("n1_4xT4")["jobSpec"]
    put("workerPoolSpecs.0.machineSpec.acceleratorCount", 3)(spec)
    put("netwrk", "x")(spec)
    found = {problem.path: problem.fix for problem in errors(check_as_given(spec))}
    assert found["$.netwrk"] == "did you mean network?"
    assert "$.workerPoolSpecs[0].machineSpec.acceleratorCount" in found
    assert not [path for path in found if "jobSpec" in path]


def in_python_names(value: Any) -> Any:
    """A document as the Python client's dictionaries spell it."""
    if isinstance(value, list):
        return [in_python_names(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(key)).lower(): in_python_names(item)
        for key, item in value.items()
    }


@pytest.mark.parametrize("name", CAPTURED_ONES)
def test_the_names_of_the_python_client_are_read_as_the_service_reads_them(name: str):
    spelt = in_python_names(captured(name))
    assert "job_spec" in spelt
    assert as_custom_job(spelt) == captured(name)
    assert through_the_client(json.dumps(spelt)) == through_the_client(json.dumps(captured(name)))
    first, *others = check_as_given(spelt)
    assert (first.path, first.severity) == ("$.display_name", "warning")
    theirs = check(captured(name))
    assert [one.rule for one in others] == [one.rule for one in theirs]
    assert all("jobSpec" not in one.path and "Spec" not in one.path for one in others)
    bare, *_ = check_as_given(spelt["job_spec"])
    assert (bare.path, bare.rule) == ("$.worker_pool_specs", "python-names")


def test_paths_are_spelt_as_in_the_document():
    pool = {
        "machine_spec": {"machine_type": "g2-standard-12", "accelerator_type": "NVIDIA_TESLA_L4"},
        "replica_count": 0,
    }
    found = errors(check_as_given({"worker_pool_specs": pool}))
    assert {problem.path for problem in found} == {
        "$.worker_pool_specs",
        "$.worker_pool_specs.replica_count",
        "$.worker_pool_specs.machine_spec.accelerator_type",
    }
    assert "did you mean NVIDIA_L4?" in {problem.fix for problem in found}


def test_gclouds_file_may_have_one_entry_for_a_list():
    package = {
        "executorImageUri": f"{IMAGE}",
        "packageUris": "gs://b/t.tar.gz",
        "pythonModule": "t",
    }
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "pythonPackageSpec": package}
    assert check_as_given({"workerPoolSpecs": pool}) == []
    job = as_custom_job({"workerPoolSpecs": pool})
    assert world(job).started == 1
    assert job["jobSpec"]["workerPoolSpecs"][0]["pythonPackageSpec"]["packageUris"] == [
        "gs://b/t.tar.gz"
    ]
    # The API itself has no such form.
    assert errors(check_as_given({"displayName": "x", "jobSpec": {"workerPoolSpecs": pool}}))


@pytest.mark.parametrize(
    "machine",
    [{"machineType": "n1-standard-4"}, {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "2x2"}],
)
def test_of_one_replica_without_horovod_there_is_nothing_to_say(machine: Document):
    container = {"imageUri": IMAGE, "command": ["python", "train.py"]}
    pool = {"machineSpec": machine, "replicaCount": 1, "containerSpec": container}
    found = check_as_given({"workerPoolSpecs": [pool]})
    assert [problem.rule for problem in found if problem.rule != "machine-unknown"] == []


def test_a_key_in_both_spellings_is_an_error_as_in_the_service():
    job = captured("n1_4xT4")
    job["job_spec"] = {}
    (problem,) = errors(check_as_given(job))
    assert (problem.path, problem.fix) == ("$.job_spec", "did you mean jobSpec?")


@pytest.mark.parametrize(
    ("document", "known"),
    [
        ({"jobSpec": {}}, True),
        ({"workerPoolSpecs": []}, True),
        ({"worker_pool_specs": []}, True),
        ({"TrainingJobName": "x"}, False),
        ({}, False),
    ],
)
def test_a_custom_job_is_recognised(document: Document, known: bool):
    assert recognises(document) is known


VALUES = [None, 1, -1, "x", [], {}, [None], {"a": None}, [[]], True]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize(
    "path",
    [
        "displayName",
        "labels",
        "encryptionSpec",
        "encryptionSpec.kmsKeyName",
        "jobSpec",
        "jobSpec.workerPoolSpecs",
        "jobSpec.scheduling",
        "jobSpec.scheduling.timeout",
        "jobSpec.scheduling.strategy",
        "jobSpec.network",
        "jobSpec.tensorboard",
        "jobSpec.reservedIpRanges",
        "jobSpec.persistentResourceId",
        "jobSpec.baseOutputDirectory",
        POOL,
        f"{POOL}.replicaCount",
        f"{POOL}.machineSpec",
        f"{POOL}.machineSpec.machineType",
        f"{POOL}.machineSpec.acceleratorType",
        f"{POOL}.machineSpec.acceleratorCount",
        f"{POOL}.machineSpec.reservationAffinity",
        f"{POOL}.machineSpec.reservationAffinity.values",
        f"{POOL}.diskSpec",
        f"{POOL}.containerSpec",
        f"{POOL}.containerSpec.command",
        f"{POOL}.containerSpec.args",
        f"{POOL}.containerSpec.env",
        f"{POOL}.containerSpec.env.0",
        f"{POOL}.containerSpec.env.0.value",
        f"{POOL}.containerSpec.imageUri",
        f"{POOL}.pythonPackageSpec",
    ],
)
@pytest.mark.parametrize("make", [ours, foreign], ids=["ours", "foreign"])
def test_no_malformed_document_makes_a_rule_fail(
    make: Callable[[], Document], path: str, value: Any
):
    document = make()
    put(path, value)(document)
    check(document, 8)
    check_as_given(document, 8)
    world(as_custom_job(document))
    check_location(document, "us-central1")


@settings(max_examples=300, deadline=None, database=None)
@given(document=documents())
@pytest.mark.processes
def test_no_changed_document_makes_a_rule_fail(document: Document):
    as_custom_job(document)
    given = [*check_as_given(document, 8), *check_as_given(in_python_names(document))]
    for problem in [*check(document, 8), *given]:
        assert problem.rule
        assert problem.expected
