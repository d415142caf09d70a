"""What may be asked for in case a job hangs, on every provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.cli.command import Launch

HVD = "import horovod.tensorflow as hvd\nhvd.init()\n"
PROVIDERS = {
    "local": ("--processes", "2"),
    "sagemaker": ("--gpus", "4"),
    "vertex": ("--gpus", "4", "--image", "us-docker.pkg.dev/p/r/horovod:1"),
}


def variables(document: Any) -> Mapping[str, str]:
    """Those of ours that say something of hangs, wherever the document has them."""
    found: dict[str, str] = {}
    if isinstance(document, dict):
        if str(document.get("name", "")).startswith("LAUNCH_HANG_"):
            found[document["name"]] = document["value"]
        for key, value in document.items():
            if key.startswith("LAUNCH_HANG_"):
                found[key] = value
            found.update(variables(value))
    if isinstance(document, list):
        for value in document:
            found.update(variables(value))
    return found


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_job_carries_when_it_hangs_only_where_that_was_asked_for(launch: Launch, name: str):
    launch.write("train.py", HVD)
    plain = launch(name, "train.py", *PROVIDERS[name], "--dry-run")
    assert (plain.code, "hangs" in plain.err, variables(plain.json)) == (0, False, {}), plain.err
    asked = launch(name, "train.py", *PROVIDERS[name], "--hang-after", "10m", "--dry-run")
    assert asked.code == 0, asked.err
    assert "after 10m without progress: stacks in the log, the job goes on" in asked.err
    assert variables(asked.json) == {"LAUNCH_HANG_AFTER": "600", "LAUNCH_HANG_ACTION": "wait"}


@pytest.mark.parametrize("name", PROVIDERS)
def test_an_end_needs_a_time_and_an_agent_that_sees_all_ranks(launch: Launch, name: str):
    launch.write("train.py", HVD)
    words = (name, "train.py", *PROVIDERS[name], "--hang-action", "end", "--dry-run")
    alone = launch(*words)
    assert (alone.code, "[hang-action]" in alone.err) == (2, True), alone.err
    both = launch(*words, "--hang-after", "90s")
    if name == "sagemaker":  # Horovod's ranks are mpirun's there
        assert (both.code, "mpirun" in both.err) == (2, True), both.err
        return
    assert both.code == 0, both.err
    assert variables(both.json) == {"LAUNCH_HANG_AFTER": "90", "LAUNCH_HANG_ACTION": "end"}
