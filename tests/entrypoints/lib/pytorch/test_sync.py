"""How train_torch.py's ranks keep one model: on real ranks, and by a stand-in for Horovod."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.command import Launch
from tests.entrypoints.lib.pytorch.test_horovod_ranks import of_torch
from tests.entrypoints.strategies.torch_ranks import PYTHON, need_torch
from tests.entrypoints.torch_training import SCRIPT, run, write_digits
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.processes

CASES = Path(__file__).with_name("sync_cases.py")
STEPS = 12  # of the short runs: two epochs of six
PARAMETERS = 4  # of the mlp; sgd has as many momenta
ROUNDING = 1e-5  # two ways to add the same numbers up
# What Horovod's optimizer is asked for, and what becomes of Adasum; averages are made in place.
BINDING = """
import sys, types, torch
sys.path.insert(0, sys.argv[1])
binding = types.ModuleType("horovod.torch")
binding.Average, binding.Adasum = "average", "adasum"
binding.Compression = types.SimpleNamespace(none="none", fp16="fp16")
binding.mpi_enabled = lambda: by_mpi
def wrapped(optimizer, named, **how):
    print(len(list(named)), sorted(how.items()))
    return "wrapped"
def allreduce_async_(tensor, name):
    assert tensor.dim() and name.startswith("mean.")
    tensor += 1  # as far as the other rank's is from it
    return tensor
binding.DistributedOptimizer, binding.allreduce_async_ = wrapped, allreduce_async_
binding.synchronize = lambda tensor: tensor
sys.modules.update({"horovod": types.ModuleType("horovod"), "horovod.torch": binding})
sys.modules["horovod"].torch = binding
from lib.arguments import parse
from lib.pytorch import sync
from lib.pytorch.horovod_ranks import HorovodTorchRanks
from lib.ranks import Ranks
model = torch.nn.Linear(2, 3)
ranks = HorovodTorchRanks.__new__(HorovodTorchRanks)
def asked(words, size, mpi=True):
    global by_mpi
    by_mpi = mpi
    Ranks.__init__(ranks, 0, size, 0, 1)
    settings = parse(words)
    try:
        sync.check(settings, ranks)
    except Exception as error:
        print(error)
        return
    print(sync.step_apart(settings), end=" ")
    found = sync.distributed("plain", model, settings, ranks)
    assert sync.wrapped(model, settings, ranks) is model
    if found != "wrapped":
        print(found)
asked(["--backward-passes", "3", "--compression", "fp16"], 2)
asked(["--sync", "adasum"], 4)
asked(["--sync", "adasum"], 3)
asked(["--sync", "adasum"], 2, mpi=False)
asked(["--sync", "adasum"], 1, mpi=False)
asked(["--sync", "average:2"], 2)
steps, weight = torch.tensor(0.0), torch.nn.Parameter(torch.zeros(3))
ranks.average_in_place([steps, weight])
print(steps.tolist(), weight.tolist())
"""


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_torch()
    return write_digits(tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="module")
def found(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("sync")
    ranks = run(folder, [str(digits)], script=CASES, PYTHONPATH=str(ENTRYPOINTS))
    assert [rank.exit_code for rank in ranks] == [0, 0], ranks
    told: dict[str, Any] = json.loads(ranks[0].stdout.splitlines()[-1])
    return told


def weights(case: dict[str, Any]) -> Any:
    """Of all ranks, which have the same."""
    first, second = map(np.array, case["ranks"])
    assert np.array_equal(first, second)
    return first


def test_two_small_backward_passes_are_one_large_batch(found: dict[str, Any]) -> None:
    passes, expected = found["two passes"], found["every step"]
    np.testing.assert_allclose(weights(passes), weights(expected), atol=ROUNDING)
    assert passes["exchanged"] == expected["exchanged"] == STEPS
    assert passes["averaged"] == expected["averaged"] == []


def test_gradients_in_16_bits_are_nearly_those_of_32(found: dict[str, Any]) -> None:
    short, exact = weights(found["16 bits"]), weights(found["every step"])
    np.testing.assert_allclose(short, exact, atol=1e-3)
    assert not np.allclose(short, exact, atol=1e-7)


def test_parameters_averaged_after_every_step_are_averaged_gradients(
    found: dict[str, Any],
) -> None:
    averages = found["average:1"]
    np.testing.assert_allclose(weights(averages), weights(found["every step"]), atol=ROUNDING)
    assert averages["averaged"] == [2 * PARAMETERS] * STEPS
    assert averages["exchanged"] == 0


@pytest.mark.parametrize(("how", "times"), [("average:4", 4), ("average:epoch", 2)])
def test_between_averages_ranks_step_alone_and_each_epoch_ends_with_one_model(
    found: dict[str, Any], how: str, times: int
) -> None:
    case = found[how]
    assert (len(case["averaged"]), case["exchanged"]) == (times, 0)
    assert not np.allclose(weights(case), weights(found["every step"]), atol=ROUNDING)


def test_ranks_whose_last_batches_differ_average_to_the_same_model(found: dict[str, Any]) -> None:
    averages, expected = weights(found["uneven averages"]), weights(found["uneven"])
    np.testing.assert_allclose(averages, expected, atol=ROUNDING)


def test_all_that_a_rank_has_of_its_own_is_averaged(found: dict[str, Any]) -> None:
    assert found["settled"] == [True, True]


def test_divided_epochs_are_one_of_two_on_each_rank(found: dict[str, Any]) -> None:
    assert found["divided"]["exchanged"] == STEPS // 2
    assert len(weights(found["divided"]))


@pytest.mark.parametrize("case", ["killed averages", "killed passes"])
def test_killed_in_an_epoch_a_run_ends_where_an_undisturbed_one_does(
    found: dict[str, Any], case: str
) -> None:
    whole, resumed = map(weights, found[case])
    np.testing.assert_allclose(resumed, whole, atol=ROUNDING)


def test_adasum_is_not_distributed_data_parallels(found: dict[str, Any]) -> None:
    first, second = found["adasum"]
    assert first.startswith("TrainingError: --sync adasum: these ranks average by Distributed")
    assert second.startswith("PeerEndedError: ")


def test_what_goes_to_other_ranks_is_held_so_that_gloo_is_not_the_last_to_hold_it(
    found: dict[str, Any],
) -> None:
    for of_rank in found["held"]:
        assert len(of_rank) == 10 * (6 + 2 + 1 + 1 + 1)
        assert all(of_rank)


def test_horovods_optimizer_is_asked_for_what_the_command_line_says() -> None:
    done = of_torch(BINDING)
    passes, adasum, three, gloo, alone, plain, averaged = done.stdout.splitlines() or [done.stderr]
    how = "('backward_passes_per_step', {}), ('compression', '{}'), ('op', '{}')"
    assert passes == f"False 2 [{how.format(3, 'fp16', 'average')}]"
    assert adasum == alone == f"True 2 [{how.format(1, 'none', 'adasum')}]"
    assert three.startswith("--sync adasum: there are 3 ranks; expected 2, 4, 8 or")
    assert gloo.startswith("--sync adasum: these ranks speak by Gloo, and Horovod has Adasum for")
    assert (plain, averaged) == ("True plain", "1.0 [1.0, 1.0, 1.0]")


def test_the_launcher_proves_ranks_that_average_parameters(launch: Launch, digits: Path) -> None:
    answer = launch(
        "local", str(SCRIPT), "--python", str(PYTHON), "--instances", "2", "--",
        "--data", f"mnist-files:{digits}", "--model", "mlp", "--epochs", "1", "--sync", "average:4",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert "parameters exchanged, weights equal" in answer.out
