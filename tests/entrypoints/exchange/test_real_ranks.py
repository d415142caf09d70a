"""Real Horovod ranks that train together or apart, and what their records say, joined."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from launch_runtime.evidence.finding import Finding
from launch_runtime.evidence.judge import judge

from tests.entrypoints import horovod_ranks
from tests.entrypoints.exchange import scripts
from tests.entrypoints.warm_ranks import WarmPython

pytestmark = pytest.mark.horovod

WATCHED = Path(__file__).with_name("watched.py")
ENVIRONMENT = {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
Judge = Callable[..., Finding]


@pytest.fixture(scope="module")
def watched() -> Iterator[WarmPython]:
    """Has the hooks in it, and then TensorFlow and Horovod, as a rank's guard has."""
    warm = WarmPython(WATCHED)
    warm.start({**horovod_ranks.clean_environment(), **ENVIRONMENT})
    yield warm
    warm.stop()


@pytest.fixture
def judged(watched: WarmPython, tmp_path: Path) -> Judge:
    return lambda text, size=2: judgement(watched, tmp_path, text, size)


def judgement(watched: WarmPython, folder: Path, text: str, size: int) -> Finding:
    """Runs the script on ``size`` ranks and judges their records."""
    script = folder / "train.py"
    script.write_text(text)
    run = partial(
        horovod_ranks.run,
        folder / "ranks",
        size=size,
        environment={**ENVIRONMENT, "LAUNCH_WORLD_SIZE": str(size)},
    )
    if "TF_USE_LEGACY_KERAS" in text:  # it wants another Keras than is there
        ranks = run([str(script)], script=WATCHED)
    else:
        ranks = run(script=script, warm=watched)
    found = {}
    for number, rank in enumerate(ranks):
        assert rank.exit_code == 0, rank.stderr[-3000:]
        assert "WATCHED well" in rank.stderr, rank.stderr[-3000:]
        records = [json.loads(line[7:])["record"] for line in rank.lines("RECORD ")]
        found[number] = list({record["pid"]: record for record in records}.values())
    return judge(found, size)


@pytest.mark.parametrize("name", scripts.TOGETHER)
def test_ranks_that_train_together_are_never_refused(name: str, judged: Judge) -> None:
    text, words = scripts.TOGETHER[name]

    assert judged(text) == Finding(words)


@pytest.mark.parametrize("name", scripts.APART)
def test_ranks_that_train_apart_are_found(name: str, judged: Judge) -> None:
    text, said = scripts.APART[name]

    finding = judged(text)

    assert said in finding.failure
    assert "--proof init" in finding.fix


def test_groups_that_nothing_connects_train_apart(judged: Judge) -> None:
    finding = judged(scripts.PAIRS_APART, size=4)

    assert "groups of ranks trained apart (ranks 0 and 1; ranks 2 and 3)" in finding.failure


def test_a_rank_outside_of_the_process_set_trains_apart(judged: Judge) -> None:
    finding = judged(scripts.OUTSIDE, size=3)

    assert "groups of ranks trained apart (ranks 0 and 1; rank 2)" in finding.failure


def test_groups_beside_the_full_set_train_together(judged: Judge) -> None:
    assert judged(scripts.PAIRS_TOGETHER, size=4) == Finding(scripts.EQUAL)
