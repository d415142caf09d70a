"""What a request brings into its containers: the algorithm, the data, the checkpoints.

Source: API reference of CreateTrainingJob, AlgorithmSpecification, DataSource,
FileSystemDataSource and CheckpointConfig.
"""

from __future__ import annotations

import posixpath

from launchers.core.model.document import at, entries, mapping
from launchers.core.model.problems import Problem
from launchers.sagemaker.catalogue import RULES

_INPUT = "/opt/ml/input"


def check_data(document: object) -> list[Problem]:
    """Rules over them; a field of the wrong type is left to the model's own check."""
    return [*_algorithm(document), *_channels(document), *_checkpoints(document)]


def _algorithm(document: object) -> list[Problem]:
    algorithm = mapping(document, "AlgorithmSpecification")
    if not algorithm:
        return []
    given = [key for key in ("TrainingImage", "AlgorithmName") if key in algorithm]
    if len(given) == 1:
        return []
    found = "both of them" if given else "neither TrainingImage nor AlgorithmName"
    return [RULES["image-or-algorithm"].at("$.AlgorithmSpecification", found)]


def _channels(document: object) -> list[Problem]:
    problems = []
    vpc = mapping(document, "VpcConfig")
    for index, channel in enumerate(entries(document, "InputDataConfig")):
        path = f"$.InputDataConfig[{index}].DataSource"
        source = at(channel, "DataSource")
        if isinstance(source, dict) and len(source) != 1:
            found = ", ".join(map(str, source)) or "nothing in it"
            problems.append(RULES["data-source"].at(path, found[:60]))
        if at(source, "FileSystemDataSource") is not None and not vpc:
            problems.append(
                RULES["file-system-vpc"].at(f"{path}.FileSystemDataSource", "no VpcConfig")
            )
    return problems


def _checkpoints(document: object) -> list[Problem]:
    place = at(document, "CheckpointConfig", "LocalPath")
    if not isinstance(place, str):
        return []
    folder = posixpath.normpath(place)
    if folder != _INPUT and not folder.startswith(f"{_INPUT}/"):
        return []
    return [RULES["checkpoint-path"].at("$.CheckpointConfig.LocalPath", place[:60])]
