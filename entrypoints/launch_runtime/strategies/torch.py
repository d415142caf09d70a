"""torch.distributed: DDP, FSDP and what builds on them, with ranks that are told their places."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from launch_runtime import torch_names
from launch_runtime.rank import gpu_pinning, identity, torch_hook, tracebacks
from launch_runtime.rank.exchange import process_groups, sample_hooks
from launch_runtime.rank.identity import Place
from launch_runtime.rank.world_check import World, WorldCheck
from launch_runtime.stacks import Wait
from launch_runtime.strategies.strategy import SERVICES_OWN, Seat, Strategy
from launch_runtime.words import Words

WORDS = Words(
    product="torch.distributed",
    join="init_process_group",
    leave="destroy_process_group",
    never=(
        "rank {rank} ended without ever having called init_process_group: "
        "{size} independent copies ran, not one job"
    ),
    why_never=(
        "the script makes no process group, or makes it in a process that was started with an "
        "environment of its own"
    ),
    fix_never=(
        'call torch.distributed.init_process_group("nccl") (or "gloo") in the script, and wrap the '
        "model with DistributedDataParallel"
    ),
    not_used="torch.distributed not used",
    late="without it {size} independent copies run",
    inner="ranks of a launcher inside the script (torchrun, mp.spawn or elastic_launch)",
    fix_inner="make the process group in the script itself, and let launch start the ranks",
    keep="leave RANK, WORLD_SIZE, MASTER_ADDR and the others as the script finds them",
    wrap=(
        "wrap the model with torch.nn.parallel.DistributedDataParallel, and train through what it "
        "gives"
    ),
    broadcast=(
        "train through DistributedDataParallel, which broadcasts the start weights, or broadcast "
        "the parameters from rank 0"
    ),
    not_during=(
        "they trained while there was no process group (before init_process_group or after "
        "destroy_process_group)"
    ),
    around=(
        "the model is wrapped with DistributedDataParallel, and trained past it, or within "
        "no_sync() at every step"
    ),
    fix_around=(
        "call what DistributedDataParallel gave, model(x), and not model.module(x), whose "
        "gradients stay where they are"
    ),
    groups="process groups",
    fix_parts="let the process groups overlap, or use the default one",
    fix_alone="use a process group that holds several ranks, or the default one",
    uneven="Join",
    pick='call torch.cuda.set_device(int(os.environ["LOCAL_RANK"])) before the model is moved',
    abort=" (PyTorch ends so where a peer is gone)",
    abort_phases=("starting", "training"),
)

# What a rank meets when another one has gone, in PyTorch 1.13 to 2.9: the types that the store and
# the network have of their own (torch/csrc/distributed/c10d/exception.h), and the words of Gloo's
# pairs, of NCCL's watchdog and of the store's client.
_PEER_TYPES = {"DistStoreError", "DistNetworkError"}
_PEER_WORDS = (
    "Broken pipe",
    "Socket closed",
    "Connection refused",
    "Connection was likely closed",
    "Timed out waiting",
    "Socket Timeout",
    "Application timeout caused pair closure",
    "Read timeout",
    "failed to recv, got 0 bytes",
    "remote process exited",
    "ncclRemoteError",
    "NCCL communicator was aborted",
    "Watchdog caught collective operation timeout",
)


class Torch(Strategy):
    """See the module."""

    name = "torch"
    words = WORDS
    taken_out = (*SERVICES_OWN, *torch_names.ALL)
    watched = (*torch_names.PLACE, *torch_names.RENDEZVOUS)
    # A child may meet elsewhere; whether it is the rank that was promised, the world says.
    place_names = torch_names.PLACE
    tables = (process_groups.table, sample_hooks.torch)
    # As in the stacks of ranks that waited with torch 1.13 (Gloo), and in the source of 2.5.
    waits = (
        Wait("/torch/distributed/"),
        Wait("/torch/nn/parallel/distributed.py"),
        # In which DistributedDataParallel exchanges gradients.
        Wait("/torch/autograd/", ("backward", "_engine_run_backward")),
    )

    def variables(self, seat: Seat) -> Mapping[str, str]:
        first = seat.contacts[0]
        given = {
            "MASTER_ADDR": first.address,
            "MASTER_PORT": first.port,
            "RANK": seat.rank,
            "WORLD_SIZE": seat.size,
            "LOCAL_RANK": seat.local_rank,
            "LOCAL_WORLD_SIZE": seat.processes,
            "GROUP_RANK": seat.position,
            "GROUP_WORLD_SIZE": seat.hosts,
            "ROLE_RANK": seat.rank,
            "ROLE_WORLD_SIZE": seat.size,
            "ROLE_NAME": "default",
            "NODE_RANK": seat.position,
            # By it Lightning knows that its ranks are started already.
            "TORCHELASTIC_RUN_ID": seat.job or "launch",
            "TORCHELASTIC_RESTART_COUNT": 0,
            "TORCHELASTIC_MAX_RESTARTS": 0,
        }
        return {name: str(value) for name, value in given.items()}

    def defaults(self, seat: Seat, environment: Mapping[str, str]) -> Mapping[str, str]:
        # As torchrun does: several ranks that each use all cores slow each other down.
        threads = {"OMP_NUM_THREADS": "1"} if seat.processes > 1 else {}
        if not seat.interface:
            return threads
        names = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
        named = [*names, *(["NCCL_SOCKET_IFNAME"] if seat.several else [])]
        return {**threads, **dict.fromkeys(named, seat.interface)}

    def is_consequence(self, error: BaseException) -> bool:
        if super().is_consequence(error) or type(error).__name__ in _PEER_TYPES:
            return True
        # torch's own are RuntimeErrors; a socket of the script's raises an OSError.
        text = tracebacks.describe(error) if isinstance(error, RuntimeError) else ""
        return any(word in text for word in _PEER_WORDS)

    def place(self, environment: Mapping[str, str], has_agent: bool) -> Place:
        """Without launch's agent as torchrun's variables say it."""
        if has_agent or not environment.get("RANK"):
            return super().place(environment, has_agent)
        alone = identity.nobody()

        def value(name: str, default: int) -> int:
            text = environment.get(name, "")
            return int(text) if text.isdigit() else default

        return Place(
            value("WORLD_SIZE", alone.size),
            value("RANK", alone.rank),
            value("LOCAL_WORLD_SIZE", alone.local_size),
            value("LOCAL_RANK", alone.local_rank),
            alone.host,
            "torchrun's variables",
        )

    def watch(self, check: WorldCheck) -> None:
        moment = _Moment(check)
        torch_hook.install(moment.before, moment.after, moment.leaving)


class _Moment:
    """The watchers around ``init_process_group`` and ``destroy_process_group``.

    Args:
        check: Judges what they see.
    """

    def __init__(self, check: WorldCheck):
        self._check = check

    def before(self, module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self._check.before()

    def after(self, module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Compares size and rank with what they must be; ends the process where they differ."""
        world = World(module.get_world_size(), module.get_rank())
        self._check.joined(world, lambda: _carrier(module), lambda: _why(kwargs))

    def leaving(self, module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self._check.leaving()


def carried_by(backend: str, gpus: bool) -> str:
    """What carries gradients between ranks, as its makers write it.

    Args:
        backend: Its name, or one for each kind of device.
        gpus: Whether the ranks have GPUs.

    Example:
        >>> carried_by("cpu:gloo,cuda:nccl", gpus=False)
        'Gloo'
    """
    of_device = dict(part.split(":", 1) for part in backend.lower().split(",") if ":" in part)
    name = of_device.get("cuda" if gpus else "cpu") or backend.lower().rpartition(":")[2]
    return {"gloo": "Gloo", "nccl": "NCCL", "mpi": "MPI"}.get(name, name)


def _carrier(module: Any) -> str:
    """Of the default group, which may have a backend for each kind of device."""
    backend = str(module.get_backend())
    if hasattr(module, "get_backend_config") and backend in ("undefined", "custom"):
        backend = str(module.get_backend_config())
    return carried_by(backend, gpu_pinning.rank_sees_devices())


def _why(kwargs: Mapping[str, Any]) -> tuple[str, str]:
    """Likely cause and fix of a world that is not the promised one."""
    told = [f"{name}={kwargs[name]!r:.40}" for name in ("world_size", "rank") if name in kwargs]
    if told:
        return (
            f"init_process_group was called with {' and '.join(told)}",
            "leave these arguments out: the ranks are told their places by the environment",
        )
    return "torch.distributed did not take the place that the rank was given", ""


STRATEGY = Torch()
