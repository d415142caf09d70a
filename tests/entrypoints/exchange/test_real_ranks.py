"""Real Horovod ranks that train together or apart, and what their records say, joined."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from launch_runtime.evidence.finding import Finding
from launch_runtime.evidence.judge import judge

from tests.entrypoints import horovod_ranks
from tests.entrypoints.exchange import scripts

pytestmark = pytest.mark.horovod

WATCHED = Path(__file__).with_name("watched.py")


def judged(folder: Path, text: str, size: int = 2) -> Finding:
    """Runs the script on ``size`` ranks and judges their records."""
    script = folder / "train.py"
    script.write_text(text)
    environment = {
        "LAUNCH_WORLD_SIZE": str(size), "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3",
        "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    ranks = horovod_ranks.run(
        folder / "ranks", [str(script)], size=size, script=WATCHED, environment=environment
    )
    found = {}
    for number, rank in enumerate(ranks):
        assert rank.exit_code == 0, rank.stderr[-3000:]
        assert "WATCHED well" in rank.stderr, rank.stderr[-3000:]
        records = [json.loads(line[7:])["record"] for line in rank.lines("RECORD ")]
        found[number] = list({record["pid"]: record for record in records}.values())
    return judge(found, size)


@pytest.mark.parametrize("name", scripts.TOGETHER)
def test_ranks_that_train_together_are_never_refused(name: str, tmp_path: Path) -> None:
    text, words = scripts.TOGETHER[name]

    assert judged(tmp_path, text) == Finding(words)


@pytest.mark.parametrize("name", scripts.APART)
def test_ranks_that_train_apart_are_found(name: str, tmp_path: Path) -> None:
    text, said = scripts.APART[name]

    finding = judged(tmp_path, text)

    assert said in finding.failure
    assert "--proof init" in finding.fix


def test_groups_that_nothing_connects_train_apart(tmp_path: Path) -> None:
    finding = judged(tmp_path, scripts.PAIRS_APART, size=4)

    assert "groups of ranks trained apart (ranks 0 and 1; ranks 2 and 3)" in finding.failure


def test_groups_beside_the_full_set_train_together(tmp_path: Path) -> None:
    assert judged(tmp_path, scripts.PAIRS_TOGETHER, size=4) == Finding(scripts.EQUAL)
