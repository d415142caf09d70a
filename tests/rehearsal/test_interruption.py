"""Spot capacity that is taken back: SIGTERM, the service's grace, the next attempt."""

from __future__ import annotations

import pytest

from launchers.core.model.containers import Conduct
from tests.rehearsal.boxes import PROOF, Heard, run

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("base", "home")]

# Trains epoch after epoch, each with a checkpoint, until it is killed or has had four. bash as
# process 1 has no handler for SIGTERM unless it sets a trap.
TRAIN = f"""
{PROOF}
echo gone > /opt/ml/model/of-the-first-half-alone
epoch=$(cat /opt/ml/checkpoints/epoch 2>/dev/null || echo 0)
test $epoch -gt 0 && rm /opt/ml/model/of-the-first-half-alone
while test $epoch -lt 4; do
    epoch=$((epoch + 1))
    echo "progress: epoch $epoch/4, step 1/1, 1 images/s, loss 0.1"
    echo $epoch > /opt/ml/checkpoints/epoch
    test $epoch -eq 2 && test ! -e /opt/ml/checkpoints/interrupted && {{
        touch /opt/ml/checkpoints/interrupted
        sleep 1000
    }}
done
true
"""


def test_the_after_interruption_goes_on_from_the_checkpoints() -> None:
    heard = Heard()
    conduct = Conduct(stop_grace=1.0, unheard="process 1 has no handler")
    result = run(TRAIN, "sleep 1000", heard=heard, conduct=conduct, interrupt_after=1)
    assert result.state == "succeeded"
    first, second = result.restarts
    assert first == (
        "before the interruption: reached epoch 2/4, step 1/1; "
        "no rank saw SIGTERM: process 1 has no handler"
    )
    assert second == "after the interruption: went on from epoch 3/4, reached epoch 4/4, step 1/1"
    assert first in heard.notes, "told when it happens"
    assert result.collected == {}, "the first attempt's model is lost, as on the service"


def test_a_container_that_hears_sigterm_is_told() -> None:
    trap = f"trap 'exit 0' TERM; {PROOF}; while true; do sleep 0.1; done"
    result = run(
        f"test -e /opt/ml/checkpoints/again && {{ {PROOF}; exit 0; }}; "
        f"touch /opt/ml/checkpoints/again; {trap}",
        "trap 'exit 0' TERM; while true; do sleep 0.1; done",
        interrupt_after=1,
    )
    assert result.state == "succeeded"
    assert "SIGTERM was seen: algo-" in result.restarts[0]


def test_a_job_that_ends_in_the_grace_has_ended_before_the_interruption() -> None:
    result = run(f"{PROOF}; sleep 3; true", "sleep 1000", interrupt_after=1)
    assert (result.state, result.restarts) == ("succeeded", ())


def test_a_job_that_begins_anew_is_told_so() -> None:
    forgetful = TRAIN.replace("$(cat /opt/ml/checkpoints/epoch 2>/dev/null || echo 0)", "0")
    result = run(forgetful, "sleep 1000", conduct=Conduct(stop_grace=1.0), interrupt_after=1)
    assert result.restarts[1].startswith("after the interruption: started over, reached epoch 4/4")
