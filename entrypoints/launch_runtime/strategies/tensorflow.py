"""TensorFlow's own strategies: MultiWorkerMirroredStrategy, and on one host MirroredStrategy.

One process a host has all of its GPUs, and a replica of the model on each. The world is known once
a strategy is made: ``num_replicas_in_sync`` is public, and so is the rank in TF_CONFIG; the classes
are found by the modules that hold them in TensorFlow 2.18, and where they are not found, the rank
ends as one that never joined.
"""

from __future__ import annotations

import functools
import json
from typing import Any, Callable, Mapping, Sequence

from launch_runtime.evidence.finding import OPT_OUT, Finding
from launch_runtime.evidence.judge import idle
from launch_runtime.evidence.records import INIT, STRICT, Record, merged
from launch_runtime.evidence.weights import exchanged
from launch_runtime.rank import identity, tracebacks
from launch_runtime.rank.exchange import tensorflow_hooks
from launch_runtime.rank.identity import Place
from launch_runtime.rank.import_hook import when_imported
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.rank.world_check import World, WorldCheck
from launch_runtime.stacks import Wait
from launch_runtime.strategies.strategy import Seat, Strategy
from launch_runtime.words import Words

_HOSTS = "tf.distribute.MultiWorkerMirroredStrategy()"
_DEVICES = "tf.distribute.MirroredStrategy()"
_SCOPE = (
    "make model, optimizer and variables under the strategy's scope(), and train by fit() or by "
    "strategy.run()"
)

WORDS = Words(
    product="TensorFlow's strategy",
    join="MultiWorkerMirroredStrategy()",
    leave="the end of the script",
    never=(
        "rank {rank} ended without ever having made a strategy of {size} replicas: "
        "every host trained alone"
    ),
    why_never=(
        "the script makes no MultiWorkerMirroredStrategy (nor, on one host, a MirroredStrategy), "
        "or makes it in a process that was started with an environment of its own"
    ),
    fix_never=f"add `strategy = {_HOSTS}` to the script, and {_SCOPE}",
    not_used="no strategy of TensorFlow used",
    late="without it every host trains alone",
    inner="workers that the script starts itself, with a TF_CONFIG of its own",
    fix_inner="make the strategy in the script itself, and let launch start one process a host",
    keep="leave TF_CONFIG as the script finds it",
    wrap=_SCOPE,
    broadcast=(
        "make the model under the strategy's scope(), which gives all replicas the values of the "
        "first one"
    ),
    not_during="they trained before the strategy was made",
    fix_alone=_SCOPE,
    fix_parts="use one strategy for all hosts",
    abort=" (TensorFlow ends so where a peer is gone)",
    abort_phases=("starting", "training"),
    holds="replica",
)

# The tasks of a TF_CONFIG that train, in their order.
_TRAIN = ("chief", "worker")

# What a worker meets when another one has gone (TensorFlow 2.18, run: killed, left early, raised).
_LOST_PEER_TYPES = ("UnavailableError",)
_LOST_PEER = (
    "Collective ops is aborted by",
    "Socket closed",
    "failed to connect to all addresses",
    "coordination service",
    "is unhealthy",
)


class TensorFlow(Strategy):
    """See the module."""

    name = "tensorflow"
    words = WORDS
    replicated = True
    settles_keras = True
    watched = ("TF_CONFIG",)
    place_names = ("TF_CONFIG",)
    tables = (tensorflow_hooks.replicated,)
    waits = (
        # Workers that make the strategy, and a step that TensorFlow runs, its exchanges among it.
        Wait("/tensorflow/python/distribute/"),
        Wait("/tensorflow/python/eager/", ("quick_execute", "call_function", "ensure_initialized")),
    )

    def variables(self, seat: Seat) -> Mapping[str, str]:
        workers = [f"{contact.address}:{contact.port}" for contact in seat.contacts]
        task = {"type": "worker", "index": seat.position}
        return {"TF_CONFIG": json.dumps({"cluster": {"worker": workers}, "task": task})}

    def place(self, environment: Mapping[str, str], has_agent: bool) -> Place:
        """Without launch's agent as TF_CONFIG says it: clouds and their toolkits write one."""
        found = None if has_agent else _task(environment.get("TF_CONFIG", ""))
        if found is None:
            return super().place(environment, has_agent)
        return identity.nobody()._replace(size=found[0], rank=found[1], by="TF_CONFIG")

    def watch(self, check: WorldCheck) -> None:
        moment = Moment(check)
        when_imported(
            {
                "tensorflow.python.distribute.collective_all_reduce_strategy": moment.of_hosts,
                "tensorflow.python.distribute.mirrored_strategy": moment.of_devices,
                "keras.src.backend.tensorflow.trainer": moment.keras_3,
            }
        )

    def is_consequence(self, error: BaseException) -> bool:
        if tracebacks.names_peer(error) or type(error).__name__ in _LOST_PEER_TYPES:
            return True
        return any(words in str(error) for words in _LOST_PEER)

    def judge(
        self, evidence: Mapping[int, Sequence[Record]], ranks: int, world_size: int, mode: str
    ) -> Finding:
        if ranks == 1 < world_size and mode != INIT:
            return _judge_one(evidence.get(0) or (), world_size, mode)
        return super().judge(evidence, ranks, world_size, mode)


def _task(config: str) -> tuple[int, int] | None:
    """How many tasks of a TF_CONFIG train, and which of them this one is; None where it does not
    say. A chief is the first of them; parameter servers and evaluators train nothing."""
    try:
        found = json.loads(config)
        hosts = [
            (kind, number)
            for kind in _TRAIN
            for number in range(len(found["cluster"].get(kind, ())))
        ]
        return len(hosts), hosts.index((found["task"]["type"], int(found["task"]["index"])))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


class Moment:
    """The watchers around the making of a strategy.

    Args:
        check: Judges what they see.
    """

    def __init__(self, check: WorldCheck):
        self._check = check

    def of_hosts(self, module: Any) -> None:
        """The module of MultiWorkerMirroredStrategy."""
        for name in ("CollectiveAllReduceStrategy", "CollectiveAllReduceStrategyV1"):
            _around_init(getattr(module, name, None), self._before, self._hosts_joined)

    def of_devices(self, module: Any) -> None:
        """The module of MirroredStrategy."""
        for name in ("MirroredStrategy", "MirroredStrategyV1"):
            _around_init(getattr(module, name, None), self._refuse_copies, self._devices_joined)

    def keras_3(self, module: Any) -> None:
        """The module in which Keras 3 has ``fit`` for TensorFlow."""
        for name in ("fit", "evaluate"):
            self._name_fault(getattr(module, "TensorFlowTrainer", None), name)

    def _before(self) -> None:
        self._check.before(WORDS.join)

    def _refuse_copies(self) -> None:
        promise = self._check.given.promise
        if promise.ranks > 1:
            self._check.end(
                RefusalError(
                    str(promise),
                    "MirroredStrategy, which knows the devices of one host",
                    f"each of the {promise.ranks} hosts would train a copy alone",
                    f"use {_HOSTS}, which reads TF_CONFIG",
                )
            )
        self._check.before("MirroredStrategy()")

    def _hosts_joined(self, strategy: Any) -> None:
        extended = strategy.extended
        world = World(int(strategy.num_replicas_in_sync), getattr(extended, "_id_in_cluster", None))
        workers = getattr(extended, "_num_workers", None)

        def why() -> tuple[str, str]:
            hosts = self._check.given.promise.ranks
            if workers is not None and workers != hosts:
                cause = f"it was made of {workers} of {hosts} workers"
                return f"{cause}, by a cluster_resolver of the script's own", f"use {_HOSTS}"
            return "the hosts have another number of GPUs than the job says", ""

        self._check.joined(world, lambda: _carrier(extended, True), why, WORDS.join)

    def _devices_joined(self, strategy: Any) -> None:
        world = World(int(strategy.num_replicas_in_sync), 0)
        cause = "it was made of a part of the devices, or TensorFlow finds no GPU here"
        self._check.joined(
            world,
            lambda: _carrier(strategy.extended, False),
            lambda: (cause, f"use {_DEVICES}, which takes all GPUs"),
            "MirroredStrategy()",
        )

    def _name_fault(self, cls: Any, name: str) -> None:
        original = getattr(cls, name, None)
        if original is None:
            return
        check = self._check

        @functools.wraps(original)
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            except Exception as error:
                if check.given.promise.ranks == 1 or "PerReplica" not in str(error):
                    raise
                check.end(
                    RefusalError(
                        "Keras 2, or a training loop of the script's own",
                        f"{name}() of Keras 3 with a strategy of several hosts, which fails: "
                        f"{str(error)[:60]}",
                        "Keras 3 takes no values that are spread over replicas "
                        "(keras-team/keras issue 20585)",
                        "--keras 2 runs the script on Keras 2 (needs the package tf-keras)",
                    )
                )

        setattr(cls, name, called)


def _around_init(cls: Any, before: Callable[[], None], after: Callable[[Any], None]) -> None:
    if cls is None:
        return
    original = cls.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        before()
        original(self, *args, **kwargs)
        after(self)

    cls.__init__ = init


def _carrier(extended: Any, hosts: bool) -> str:
    """What carries values between replicas; where TensorFlow chooses by itself, both names."""
    devices = " ".join(map(str, getattr(extended, "worker_devices", ())))
    if "GPU" not in devices:
        return "gRPC" if hosts else "one process"
    options = getattr(extended, "_communication_options", None)
    chosen = str(getattr(getattr(options, "implementation", None), "value", ""))
    if chosen == "NCCL":
        return "NCCL"
    if chosen == "RING":
        return "gRPC" if hosts else "one process"
    return "NCCL or gRPC"


def _judge_one(records: Sequence[Record], replicas: int, mode: str) -> Finding:
    """The verdict on the one rank of a job with several replicas."""
    rank = merged(records)
    if not rank.final:
        if mode != STRICT:
            return Finding("evidence missing", missing=(0,))
        fix = "end the script normally, or use --proof exchange (or --proof init)"
        text = "no evidence of the training, and --proof strict asks for it"
        return Finding("evidence missing", text, fix, (0,))
    if not rank.trained:
        return Finding("no training seen")
    if not rank.exchanging:
        return Finding(
            "",
            f"one of {replicas} replicas trained: no gradient went from replica to replica",
            f"{_SCOPE}; {OPT_OUT}",
        )
    return Finding(exchanged(rank.exchanging)).adding(idle([rank]))


STRATEGY = TensorFlow()
