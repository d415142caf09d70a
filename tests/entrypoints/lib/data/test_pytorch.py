"""Pictures in Parquet through real PyTorch loaders, workers and ranks."""

from __future__ import annotations

import io
import itertools
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests import processes
from tests.entrypoints.lib.data import torch_programs
from tests.entrypoints.simulated import free_port

pytestmark = pytest.mark.pip_network

PICTURES = 61  # each has its own label, so that it can be told
ALL = list(range(PICTURES))
BAD = 23
ENDING_SECONDS = 30.0
CASES = (
    *("epochs", "resumed", "fixed_steps", "endless_length", "left_early", "pixels", "augmented"),
    *("workers_of", "corrupt", "killed", "ended_early", "refused", "spawned", "left_open"),
)


def picture(number: int) -> bytes:
    pixels = np.random.RandomState(number).randint(0, 256, (20, 30, 3)).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def write_place(folder: Path, bad: int | None = None) -> Path:
    folder.mkdir()
    for part, numbers in enumerate(np.array_split(np.arange(PICTURES), 3)):
        content = [picture(n) if n != bad else picture(n)[:300] + b"IEND" for n in numbers]
        columns = {
            "label": pa.array(numbers, pa.int64()),
            "content": pa.array(content, pa.binary()),
            "path": [f"class/{n}.png" for n in numbers],
        }
        pq.write_table(pa.table(columns), folder / f"part-{part}.parquet", row_group_size=5)
    (folder / "first.png").write_bytes(picture(0))
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_place(tmp_path_factory.mktemp("places") / "whole")


@pytest.fixture(scope="module")
def found(place: Path) -> Mapping[str, Any]:
    broken = write_place(place.parent / "broken", bad=BAD)
    before = set(processes.descendants())
    said = torch_programs.ended(
        torch_programs.start("torch_cases.py", str(place), str(broken), *CASES)
    )
    left = processes.end_others_than(before, ENDING_SECONDS)
    return {**torch_programs.results(said), "left": left}


def flat(batches: Any) -> list[int]:
    return sorted(number for number in itertools.chain(*batches) if number != -1)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("remainder", ["pad", "uneven"])
def test_each_picture_comes_exactly_once_an_epoch_over_ranks_and_workers(
    found: Mapping[str, Any], remainder: str, workers: int
) -> None:
    ranks = found["epochs"][f"{remainder} {workers}"]
    for epoch in range(2):
        assert flat(itertools.chain(*(rank["epochs"][epoch] for rank in ranks))) == ALL
        assert ranks[0]["epochs"][0] != ranks[0]["epochs"][1]


@pytest.mark.parametrize("workers", [0, 2])
def test_what_drop_leaves_over_is_another_picture_each_epoch(
    found: Mapping[str, Any], workers: int
) -> None:
    ranks = found["epochs"][f"drop {workers}"]
    left = []
    for epoch in range(2):
        seen = flat(itertools.chain(*(rank["epochs"][epoch] for rank in ranks)))
        assert len(set(seen)) == len(seen) > PICTURES - 2 * max(workers, 1)
        left.append(set(ALL) - set(seen))
    assert left[0] != left[1]


@pytest.mark.parametrize("remainder", ["drop", "pad"])
@pytest.mark.parametrize("workers", [0, 2])
def test_every_rank_has_as_many_steps_as_its_length_says(
    found: Mapping[str, Any], remainder: str, workers: int
) -> None:
    ranks = found["epochs"][f"{remainder} {workers}"]
    steps = {len(epoch) for rank in ranks for epoch in rank["epochs"]}
    assert steps == {rank["lengths"][0] for rank in ranks}
    assert len(steps) == 1


def test_state_is_that_of_what_the_loop_has_got_and_the_same_on_every_rank(
    found: Mapping[str, Any],
) -> None:
    first, second = (json.loads(state) for state in found["resumed"]["states"])
    assert first == second
    assert first["done"] == 3
    assert [stage["steps"] for stage in first["position"]["stages"]] == [3]


def test_same_world_goes_on_with_the_very_batches_of_an_uninterrupted_run(
    found: Mapping[str, Any],
) -> None:
    ranks = found["resumed"]["others"]["2 2"]
    assert ranks[1]["rest"] == found["resumed"]["uninterrupted"]


@pytest.mark.parametrize("world", ["2 2", "3 0", "1 3"])
def test_another_world_goes_on_with_exactly_the_unread_pictures(
    found: Mapping[str, Any], world: str
) -> None:
    before = list(itertools.chain(*found["resumed"]["before"]))
    ranks = found["resumed"]["others"][world]
    rest = itertools.chain(*(rank["rest"] for rank in ranks))
    assert flat([*before, *rest]) == ALL
    assert flat(itertools.chain(*(rank["next"] for rank in ranks))) == ALL
    assert {rank["length"] for rank in ranks} == {3 + len(ranks[0]["rest"])}
    assert len({len(rank["rest"]) for rank in ranks}) == 1


@pytest.mark.parametrize("workers", ["0", "2"])
def test_iterations_of_fixed_steps_go_over_the_borders_of_epochs(
    found: Mapping[str, Any], workers: str
) -> None:
    case = found["fixed_steps"][workers]
    assert case["length"] == 5
    assert [len(one) for one in case["cut"]] == [5, 5, 2, 5]
    assert list(itertools.chain(*case["cut"])) == case["endless"]


def test_endless_iteration_has_no_length(found: Mapping[str, Any]) -> None:
    assert found["endless_length"] == "an endless iteration has no length"


@pytest.mark.parametrize("workers", ["0", "2"])
def test_after_an_epoch_that_was_left_early_comes_the_next_one_whole(
    found: Mapping[str, Any], workers: str
) -> None:
    case = found["left_early"][workers]
    assert len(flat(case["whole"])) > PICTURES - 2
    assert case["whole"] == case["again"] != case["first"]


@pytest.mark.parametrize(
    ("form", "kind", "shape", "tolerance"),
    [
        ("stored", "torch.uint8", [PICTURES, 3, 20, 30], 0),
        ("float", "torch.float32", [PICTURES, 3, 8, 10], 0),
        ("grey", "torch.float32", [PICTURES, 1, 8, 8], 0),
        ("normal", "torch.float32", [PICTURES, 3, 8, 8], 1e-5),
    ],
)
def test_pixels_are_those_that_pillow_decodes_and_resizes(
    found: Mapping[str, Any], form: str, kind: str, shape: list[int], tolerance: float
) -> None:
    assert found["pixels"]["first"]
    given_kind, given_shape, difference = found["pixels"][form]
    assert (given_kind, given_shape) == (kind, shape)
    assert difference <= tolerance


def test_augmentation_is_the_same_whatever_ranks_and_workers_and_new_each_epoch(
    found: Mapping[str, Any],
) -> None:
    assert len(found["augmented"]["same"]) > PICTURES - 4
    assert all(found["augmented"]["same"])
    assert np.mean(found["augmented"]["other"]) > 0.9


def test_workers_stay_over_epochs_and_draw_other_numbers_on_each_rank(
    found: Mapping[str, Any],
) -> None:
    drawn = []
    for rank in found["workers_of"]:
        processes = [{tuple(color[:2]) for color in epoch} for epoch in rank]
        assert len(processes[0]) == 2
        assert processes[0] == processes[1]
        drawn += [[color[2] for color in epoch] for epoch in rank]
    assert len({tuple(numbers) for numbers in drawn}) == len(drawn)


@pytest.mark.parametrize("workers", ["0", "2", "bare"])
def test_a_corrupt_picture_is_one_line_with_its_path(
    found: Mapping[str, Any], workers: str
) -> None:
    said = found["corrupt"][workers]
    assert said.startswith(f"class/{BAD}.png (")
    assert "cannot be decoded" in said
    assert "\n" not in said
    assert found["corrupt"].get(f"left {workers}", 0) == 0


def test_a_worker_that_was_killed_is_one_line(found: Mapping[str, Any]) -> None:
    assert found["killed"].startswith("a worker of the data has ended")
    assert "\n" not in found["killed"]


def test_workers_are_gone_after_an_early_end(found: Mapping[str, Any]) -> None:
    assert found["ended_early"] == [2, 0]
    assert found["left_open"] == 2
    assert found["left"] == []  # of the whole program


def test_spawned_workers_read_what_forked_ones_do(found: Mapping[str, Any]) -> None:
    assert found["spawned"] == ALL


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("uneven steps", "remainder uneven: ranks would be in different epochs"),
        ("workers", "a DataLoader of 1 workers and a data set made for 2"),
        ("other data", "the checkpoint"),
        ("no state", "no state of this data"),
        ("dtype", "dtype float16: expected float32 or uint8"),
        ("rank alone", "rank 0 of world None: give both or none"),
        ("not joined", "LAUNCH_WORLD_SIZE says 2 ranks, and this one has not joined them"),
    ],
)
def test_wrong_use_is_one_line(found: Mapping[str, Any], case: str, words: str) -> None:
    assert words in found["refused"][case]
    assert "\n" not in found["refused"][case]


def test_ranks_of_torch_distributed_divide_the_data_by_themselves(place: Path) -> None:
    port = str(free_port())
    ranks = [
        torch_programs.start(
            "torch_ddp.py",
            str(place),
            RANK=str(rank),
            WORLD_SIZE="2",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=port,
        )
        for rank in range(2)
    ]
    found = [torch_programs.results(torch_programs.ended(rank)) for rank in ranks]
    seen = Counter(itertools.chain(*(itertools.chain(*rank["seen"]) for rank in found)))
    assert seen == Counter(dict.fromkeys(ALL, 2))
    assert len({len(rank["seen"]) for rank in found}) == 1
    assert found[0]["weights"] == found[1]["weights"]
