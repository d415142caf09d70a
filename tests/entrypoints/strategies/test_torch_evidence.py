"""Real ranks of torch.distributed that train together or apart, and the verdict on them."""

from __future__ import annotations

import pytest
from launch_runtime.evidence.finding import Finding
from launch_runtime.evidence.judge import judge
from launch_runtime.strategies.torch import STRATEGY

from tests.entrypoints.strategies import torch_cases, torch_ranks
from tests.entrypoints.strategies.torch_ranks import SIZE, Outcome

pytestmark = pytest.mark.processes

CASES = {**torch_cases.TOGETHER, **torch_cases.APART}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    torch_ranks.need_torch()
    folder = tmp_path_factory.mktemp("ranks")
    texts = {name: text for name, (text, _) in CASES.items()}
    return torch_ranks.run_all(folder, texts, torch_cases.PROLOGUE)


def judged(outcome: Outcome) -> Finding:
    assert outcome.troubles == {}
    return judge(outcome.records, SIZE, words=STRATEGY.words)


@pytest.mark.xdist_group("torch-evidence")
@pytest.mark.parametrize("name", torch_cases.TOGETHER)
def test_ranks_that_train_together_are_never_refused(
    name: str, outcomes: dict[str, Outcome]
) -> None:
    assert judged(outcomes[name]) == Finding(torch_cases.TOGETHER[name][1])


@pytest.mark.xdist_group("torch-evidence")
@pytest.mark.parametrize("name", torch_cases.APART)
def test_ranks_that_train_apart_are_found(name: str, outcomes: dict[str, Outcome]) -> None:
    finding = judged(outcomes[name])

    assert torch_cases.APART[name][1] in finding.failure
    assert "--proof init" in finding.fix
    assert "hvd" not in finding.failure + finding.fix
