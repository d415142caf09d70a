from __future__ import annotations

import pytest

from entrypoints.lib import arguments
from entrypoints.lib.errors import TrainingError
from entrypoints.lib.plan import Plan, plan_epochs


@pytest.mark.parametrize(
    ("argv", "images", "world_size", "expected"),
    [
        (["--batch-size", "32"], 1438, 2, Plan(719, 23, 1438)),
        (["--batch-size", "32"], 1438, 4, Plan(359, 12, 1436)),
        (["--batch-size", "359"], 1438, 4, Plan(359, 1, 1436)),
        (["--batch-size", "32", "--max-steps-per-epoch", "5"], 1438, 2, Plan(160, 5, 320)),
        (["--batch-size", "32", "--max-steps-per-epoch", "99"], 1438, 2, Plan(719, 23, 1438)),
    ],
)
def test_an_epoch_divides_into_ranks_and_steps(
    argv: list[str], images: int, world_size: int, expected: Plan
) -> None:
    assert plan_epochs(arguments.parse(argv), images, world_size) == expected


def test_with_uneven_shares_nothing_is_left_out() -> None:
    settings = arguments.parse(["--remainder", "uneven", "--batch-size", "5"])
    assert plan_epochs(settings, 31, 3) == Plan(11, 3, 31)


@pytest.mark.parametrize(("images", "world_size"), [(3, 4), (0, 1)])
def test_fewer_images_than_ranks_are_refused(images: int, world_size: int) -> None:
    with pytest.raises(TrainingError, match=f"^{images} training images for {world_size} ranks"):
        plan_epochs(arguments.parse([]), images, world_size)


@pytest.mark.parametrize(("images", "world_size"), [(100, 4), (51, 2)])
def test_a_batch_that_no_rank_can_fill_is_refused_with_the_most_it_may_be(
    images: int, world_size: int
) -> None:
    share = images // world_size
    with pytest.raises(TrainingError, match=rf"^--batch-size 26: {images} .* are {share} each"):
        plan_epochs(arguments.parse(["--batch-size", "26"]), images, world_size)
