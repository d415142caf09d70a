"""The code whose faults cost most, and the tests that stand beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Subject:
    """Modules of one promise, and the tests that must notice a fault in them.

    Attributes:
        modules: Paths from the repository's root.
        tests: Paths from there; they are run in this order until one fails.
    """

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]


def _in(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}.py" for name in names)


_RUNTIME = "entrypoints/launch_runtime"
_CORE = "launchers/core"

SUBJECTS = (
    Subject(
        "guard",
        _in(f"{_RUNTIME}/rank", "guard", "identity", "world_check", "reporter", "child"),
        (
            "tests/entrypoints/rank/test_identity.py",
            "tests/entrypoints/rank/test_world_check.py",
            "tests/entrypoints/rank/test_reporter.py",
            "tests/entrypoints/rank/test_guard.py",
            "tests/entrypoints/rank/test_guard_preparation.py",
            "tests/entrypoints/rank/test_child_watch.py",
            "tests/entrypoints/rank/test_guard_world_size.py",
            "tests/entrypoints/rank/test_child_processes.py",
            "tests/entrypoints/rank/test_guard_evidence.py",
        ),
    ),
    # Whose own ranks are those of Debian's python3-torch; without it nothing here is noticed.
    Subject(
        "torch",
        (
            *_in(f"{_RUNTIME}/strategies", "torch"),
            *_in(f"{_RUNTIME}/rank", "torch_hook"),
            *_in(f"{_RUNTIME}/rank/exchange", "process_groups", "torch_hooks", "wrapped_models"),
            *_in(f"{_RUNTIME}/rank/exchange", "horovod_torch_hooks", "groups", "devices"),
            *_in(f"{_RUNTIME}/rank/exchange", "torch_sent", "torch_tensors", "torch_memory"),
            *_in(f"{_RUNTIME}/rank/exchange", "torch_parameters", "unseen_passes"),
        ),
        (
            "tests/entrypoints/strategies/test_strategies.py",
            "tests/entrypoints/exchange",
            "tests/entrypoints/strategies/test_torch_evidence.py",
            "tests/entrypoints/strategies/test_torch.py",
        ),
    ),
    Subject(
        "agent",
        (
            *_in(f"{_RUNTIME}/host", "coordinator", "membership", "cluster", "local_ranks"),
            *_in(f"{_RUNTIME}/host", "judgement"),
            *_in(f"{_RUNTIME}/host/peers", "counters", "keys", "rendezvous", "signatures"),
            *_in(f"{_RUNTIME}/host/peers", "waiting_room", "first_host"),
        ),
        (
            "tests/entrypoints/host",
            "tests/entrypoints/test_agent_hosts.py",
            "tests/entrypoints/test_agent_outcomes.py",
            "tests/entrypoints/test_agent_replicas.py",
        ),
    ),
    Subject(
        "world size",
        (
            *_in("launchers/sagemaker/rules", "world_size", "start"),
            *_in("launchers/sagemaker/starts", "toolkit", "alone", "groups", "mpi_options"),
            *_in("launchers/vertex/rules", "world_size", "starts", "pools", "start"),
            *_in(f"{_CORE}/analysis/plain_start", "start", "torchrun", "mpi", "world"),
        ),
        (
            "tests/core/analysis/plain_start",
            "tests/sagemaker/starts",
            "tests/corpus",
            "tests/sagemaker/rules",
            "tests/vertex/rules",
            "tests/vertex/test_command.py",
        ),
    ),
    Subject(
        "verdict",
        (
            f"{_CORE}/proof.py",
            f"{_CORE}/cloud/judging.py",
            *_in(f"{_RUNTIME}/evidence", "judge", "weights", "records"),
        ),
        (
            "tests/core/test_proof.py",
            "tests/entrypoints/evidence",
            "tests/core/cloud/test_judging.py",
        ),
    ),
    Subject(
        "ledger",
        _in(f"{_CORE}/records", "ledger", "entry", "naming", "nonce", "lock"),
        ("tests/core/records",),
    ),
    Subject(
        "sending",
        _in(f"{_CORE}/cloud", "sending", "service", "following", "upload", "preflight"),
        ("tests/core/cloud", "tests/core/test_pipeline.py"),
    ),
)
