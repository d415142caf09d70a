"""What every strategy says of itself: variables, words, the port at which its ranks meet."""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime import strategies
from launch_runtime.environment import SettingError
from launch_runtime.host import rank_environment
from launch_runtime.host.cluster import Cluster, Host
from launch_runtime.host.coordinator import Coordinator
from launch_runtime.host.held_port import HeldPort
from launch_runtime.host.peers.ranks_door import Meeting
from launch_runtime.host.settings import Settings, read
from launch_runtime.strategies import torch
from launch_runtime.strategies.strategy import Contact, Seat
from launch_runtime.strategies.torch import carried_by

from tests.entrypoints.simulated import SimulatedJob

MakeJob = Callable[..., SimulatedJob]
HOSTS = [Host("host-1", "10.0.0.1"), Host("host-2", "10.0.0.2")]
CONTACTS = [Contact("10.0.0.1", 4001), Contact("10.0.0.2", 4002)]
STRAYS = {
    "TF_CONFIG": "{}", "MASTER_ADDR": "elsewhere", "MASTER_PORT": "2222", "RANK": "0",
    "WORLD_SIZE": "2", "TORCHELASTIC_USE_AGENT_STORE": "True", "PATH": "/usr/bin",
}  # fmt: skip


def settings(strategy: str, **told: str) -> Settings:
    environment = {"LAUNCH_WORLD_SIZE": "4", "LAUNCH_INSTANCES": "2", "LAUNCH_PROCESSES": "2"}
    return read({**environment, "LAUNCH_STRATEGY": strategy, **told}, managed=True)


def built(strategy: str, position: int = 1, local_rank: int = 1, **own: str) -> dict[str, str]:
    cluster = Cluster(HOSTS, position, 2222, managed=True)
    meeting = Meeting("127.0.0.1:1/word", 1)
    return rank_environment.build(
        {**STRAYS, **own}, cluster, settings(strategy), meeting, local_rank, contacts=CONTACTS
    )


def test_without_a_word_the_strategy_is_horovod_and_another_word_is_refused() -> None:
    assert strategies.of({}).name == "horovod"
    assert strategies.of({"LAUNCH_STRATEGY": "torch"}).name == "torch"
    with pytest.raises(SettingError, match="LAUNCH_STRATEGY: found 'torchrun'"):
        strategies.of({"LAUNCH_STRATEGY": "torchrun"})


def test_horovods_ranks_find_its_own_variables_alone() -> None:
    found = built("horovod")
    assert (found["HOROVOD_RANK"], found["HOROVOD_SIZE"], found["PATH"]) == ("3", "4", "/usr/bin")
    assert not {"TF_CONFIG", "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"} & set(found)


def test_torchs_ranks_meet_at_the_first_hosts_port_and_inherit_no_other_place() -> None:
    found = built("torch")
    own = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    assert [found[name] for name in own] == ["10.0.0.1", "4001", "3", "4", "1", "2"]
    assert [found[name] for name in ("GROUP_RANK", "GROUP_WORLD_SIZE", "NODE_RANK")] == [
        "1", "2", "1",
    ]  # fmt: skip
    assert "TF_CONFIG" not in found
    assert "TORCHELASTIC_USE_AGENT_STORE" not in found
    assert not [name for name in found if name.startswith("HOROVOD")]
    restarts = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS")
    assert [found[name] for name in restarts] == ["launch", "0", "0"]
    # As torchrun does, and unless the job says something else.
    assert found["OMP_NUM_THREADS"] == "1"
    assert built("torch", OMP_NUM_THREADS="8")["OMP_NUM_THREADS"] == "8"


def test_none_runs_one_rank_and_no_more() -> None:
    with pytest.raises(SettingError, match="found 4; strategy none runs one rank"):
        settings("none")
    alone = settings("none", LAUNCH_WORLD_SIZE="1", LAUNCH_INSTANCES="1", LAUNCH_PROCESSES="1")
    assert alone.strategy.name == "none"


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        ("none", "nothing distributed"),
        ("torch", "torch.distributed not used"),
        ("", "Horovod not used"),
    ],
)
def test_one_rank_that_joined_nothing_is_proven_in_its_strategys_words(
    strategy: str, said: str, make_job: MakeJob
) -> None:
    job = make_job(hosts=1, processes=1, LAUNCH_STRATEGY=strategy)
    job.script("print('alone')")
    assert job.run() == [0], job.text()
    (proof,) = job.said("proof")
    assert proof.endswith(f"launch: proof: world size 1: 1 host x 1 rank, {said}")


def reported(coordinator: Coordinator, host: int, now: float, **more: Any) -> dict[str, Any]:
    report = {
        "host": host, "incarnation": f"start-{host}", "job": "", "hosts": 2, "world_size": 4,
        "processes": 2, "began": False, "failures": [], "ended": False, "left": False, **more,
    }  # fmt: skip
    return coordinator.report(report, now)


def coordinator(strategy: str) -> Coordinator:
    cluster = Cluster(HOSTS, 0, 2222, managed=True)
    return Coordinator(cluster, settings(strategy), "start-0", 0.0, lambda text: None, lambda: None)


def test_where_ranks_meet_is_decided_once_when_all_hosts_are_here() -> None:
    table = coordinator("torch")
    assert reported(table, 0, 0.0, port=4001)["contacts"] == []
    decided = [["10.0.0.1", 4001], ["10.0.0.2", 4002]]
    assert reported(table, 1, 1.0, port=4002)["contacts"] == decided
    assert reported(table, 0, 2.0, port=4009, began=True)["contacts"] == decided


def test_ranks_that_meet_otherwise_are_told_no_port() -> None:
    table = coordinator("horovod")
    assert reported(table, 0, 0.0)["contacts"] == []
    last = reported(table, 1, 1.0)
    assert (last["began"], last["contacts"]) == (True, [])


def test_a_held_port_is_nobodys_but_a_servers_that_asks_for_it() -> None:
    held = HeldPort()
    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind(("127.0.0.1", held.number))
    with socket.socket() as server, socket.socket() as client:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", held.number))
        server.listen()
        client.connect(("127.0.0.1", held.number))


@pytest.mark.parametrize(
    ("backend", "gpus", "carrier"),
    [
        ("gloo", False, "Gloo"),
        ("nccl", True, "NCCL"),
        ("mpi", False, "MPI"),
        ("cpu:gloo,cuda:nccl", True, "NCCL"),
        ("cpu:gloo,cuda:nccl", False, "Gloo"),
        ("hccl", False, "hccl"),
        ("cpu:gloo", True, "Gloo"),
    ],
)
def test_the_carrier_is_the_backend_of_the_device_that_ranks_have(
    backend: str, gpus: bool, carrier: str
) -> None:
    assert carried_by(backend, gpus) == carrier


class DistStoreError(RuntimeError):
    """Of PyTorch, by its name."""


# What a rank meets; whether another rank's end explains it.
ERRORS = [
    (RuntimeError("[../third_party/gloo/pair.cc:534] Connection closed by peer [::1]:1"), True),
    (RuntimeError("Broken pipe"), True),
    (RuntimeError("NCCL error: remote process exited or there was a network error"), True),
    (DistStoreError("wait timeout after 300000ms"), True),
    (BrokenPipeError("Broken pipe"), False),
    (RuntimeError("CUDA out of memory"), False),
    (RuntimeError("NCCL error: invalid usage; Duplicate GPU detected"), False),
    (ValueError("boom"), False),
]


@pytest.mark.parametrize(("error", "expected"), ERRORS, ids=[repr(e)[:40] for e, _ in ERRORS])
def test_what_only_follows_another_ranks_end_is_known(error: Exception, expected: bool) -> None:
    assert strategies.named("torch").is_consequence(error) is expected


@pytest.mark.parametrize(
    ("backend", "config", "gpus", "carrier"),
    [
        ("nccl", "cpu:gloo", False, "NCCL"),
        ("undefined", "cpu:gloo,cuda:nccl", True, "NCCL"),
        ("custom", "cpu:gloo,cuda:nccl", False, "Gloo"),
        ("custom", "", False, "custom"),
    ],
)
def test_a_group_with_a_backend_for_each_device_is_asked_for_them(
    backend: str, config: str, gpus: bool, carrier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = SimpleNamespace(get_backend=lambda: backend)
    if config:
        module.get_backend_config = lambda: config
    monkeypatch.setattr(torch.gpu_pinning, "rank_sees_devices", lambda: gpus)
    assert torch._carrier(module) == carrier


@pytest.mark.parametrize(
    ("kwargs", "why", "fixed"),
    [
        ({}, "torch.distributed did not take the place", False),
        ({"backend": "gloo"}, "torch.distributed did not take the place", False),
        ({"rank": 0}, "init_process_group was called with rank=0", True),
        ({"rank": 1, "world_size": 2}, "was called with world_size=2 and rank=1", True),
    ],
)
def test_a_place_that_the_script_gives_itself_is_named(
    kwargs: dict[str, Any], why: str, fixed: bool
) -> None:
    cause, fix = torch._why(kwargs)
    assert why in cause
    assert bool(fix) == fixed


@pytest.mark.parametrize(
    ("environment", "has_agent", "place"),
    [
        ({}, False, (4, 3, 2, 1)),
        ({"WORLD_SIZE": "four", "LOCAL_RANK": ""}, False, (1, 3, 2, 0)),
        ({"RANK": ""}, False, (1, 0, 1, 0)),
        ({"LAUNCH_SEAT": "8 5 4 1"}, True, (8, 5, 4, 1)),
    ],
)
def test_a_ranks_place_is_the_agents_word_or_else_that_of_torchruns_variables(
    environment: dict[str, str], has_agent: bool, place: tuple[int, ...]
) -> None:
    own = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    found = strategies.named("torch").place({**own, **environment}, has_agent)
    assert (found.size, found.rank, found.local_size, found.local_rank) == place


@pytest.mark.parametrize(
    ("processes", "interface", "several", "names"),
    [
        (1, "", False, []),
        (2, "", True, ["OMP_NUM_THREADS"]),
        (1, "eth0", False, ["GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"]),
        (1, "eth0", True, ["GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"]),
    ],
)
def test_torch_is_told_its_threads_and_its_interface_where_there_is_a_choice(
    processes: int, interface: str, several: bool, names: list[str]
) -> None:
    seat = Seat("host-1", 0, 2, processes, 0, interface=interface, several=several)
    assert list(strategies.named("torch").defaults(seat, {})) == names


def test_torch_knows_its_run_by_the_jobs_name() -> None:
    seat = Seat("host-1", 0, 2, 1, 0, job="train-1", contacts=CONTACTS)
    assert strategies.named("torch").variables(seat)["TORCHELASTIC_RUN_ID"] == "train-1"
