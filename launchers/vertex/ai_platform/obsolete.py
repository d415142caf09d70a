"""What of an old job means nothing any more, and what refuses the whole job."""

from __future__ import annotations

from launchers.core.model.problems import Problem
from launchers.vertex.ai_platform.input import INPUT, Given, load
from launchers.vertex.catalogue import RULES


def tell_obsolete(given: Given, problems: list[Problem]) -> None:
    """Fields and flags that mean nothing any more, and those that refuse the whole job."""
    refused = {
        f"{INPUT}.hyperparameters": "a search over hyperparameters; `sweep:` in launch.yaml "
        "starts a job for each value of a list",
        "predictionInput": "a batch prediction, not a training",
        f"{INPUT}.masterConfig.tpuTfVersion": "a TPU, which Horovod cannot use",
        f"{INPUT}.workerConfig.tpuTfVersion": "a TPU, which Horovod cannot use",
    }
    for path, what in refused.items():
        if given.get(path):
            expected = "a Horovod training job"
            problems.append(RULES["import-refused"].at(given.where(path), what, expected))
    meaningless = {
        f"{INPUT}.useChiefInTfConfig": "nothing: TF_CONFIG is taken out of the ranks' environment",
        f"{INPUT}.scheduling.priority": "nothing: Vertex AI's jobs have no priority",
        f"{INPUT}.scheduling.maxWaitTime": "`max_wait:` with `flex_start: true` under `vertex:`, "
        "for the accelerators that have it",
    }
    for path, expected in meaningless.items():
        value = given.get(path)
        if value not in (None, False):
            problems.append(dropped(given.where(path), str(value), expected))
    for flag in load()["gclouds_flags"]:
        if flag in given.flags:
            instead = "`launch vertex --detach`" if flag == "--async" else "nothing of a job"
            problems.append(dropped(flag, "a flag about gcloud itself", instead))


def dropped(where: str, found: str, expected: str) -> Problem:
    """The warning that something was left out."""
    return RULES["import-changed"].at(where, found, expected, "left out")
