"""Regions and partitions that must agree: those of image, role and the request's other ARNs.

Source: API reference of CreateTrainingJob (RoleArn, TrainingImage), Amazon ECR (addresses of
registries), AWS General Reference (ARN format, partitions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from launchers.core.model.document import at
from launchers.core.model.problems import Problem
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import hyperparameter

_ARN = re.compile(r"arn:(aws[a-z0-9-]*):[a-z0-9-]+:([a-z0-9-]*):\d{12}:.+")
_IMAGE = re.compile(r"\d{12}\.dkr\.ecr(?:-fips)?\.([a-z0-9-]+)\.")
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d")
_PARTITIONS = {
    "cn-": "aws-cn",
    "us-gov-": "aws-us-gov",
    "us-iso-": "aws-iso",
    "us-isob-": "aws-iso-b",
    "eusc-": "aws-eusc",
}
_IMAGE_PATH = "$.AlgorithmSpecification.TrainingImage"


def check_places(document: object) -> list[Problem]:
    """Rules over regions; a request that names none breaks none."""
    image = at(document, "AlgorithmSpecification", "TrainingImage")
    match = _IMAGE.match(image) if isinstance(image, str) else None
    image_region = match[1] if match else ""
    regions = dict(_regions(document))
    problems = []
    other = next(((path, one) for path, one in regions.items() if one != image_region), None)
    if image_region and other:
        path, region = other
        found = f"an image of {image_region}; {path} is of {region}"
        problems.append(RULES["image-other-region"].at(_IMAGE_PATH, found, f"one of {region}"))
    role = at(document, "RoleArn")
    role_match = _ARN.fullmatch(role) if isinstance(role, str) else None
    region = image_region or next(iter(regions.values()), "")
    if role_match and region and role_match[1] != partition(region):
        found = f"a role of {role_match[1]}, in {region}"
        problems.append(
            RULES["role-partition"].at("$.RoleArn", found, f"arn:{partition(region)}:...")
        )
    return problems


def check_registry(document: object) -> list[Problem]:
    """Where the image of a request that is not ours lies; ours was told by its flag."""
    image = at(document, "AlgorithmSpecification", "TrainingImage")
    elsewhere = isinstance(image, str) and image != "" and not _IMAGE.match(image)
    if not elsewhere or at(document, "AlgorithmSpecification", "TrainingImageConfig"):
        return []
    return [RULES["image-place"].at(_IMAGE_PATH, str(image)[:80], severity="warning")]


def partition(region: str) -> str:
    """The partition that a region belongs to, ``aws-cn`` for ``cn-north-1``."""
    return next((name for start, name in _PARTITIONS.items() if region.startswith(start)), "aws")


def _regions(document: object) -> Iterator[tuple[str, str]]:
    """Where the request says its region, and which: the SDK's hyperparameter, and ARNs."""
    said = hyperparameter(document, "sagemaker_region")
    if isinstance(said, str) and _REGION.fullmatch(said):
        yield "$.HyperParameters.sagemaker_region", said
    for section in ("ResourceConfig", "OutputDataConfig", "AlgorithmSpecification"):
        values = at(document, section)
        for key, value in values.items() if isinstance(values, Mapping) else ():
            match = _ARN.fullmatch(value) if isinstance(value, str) else None
            if match and match[2]:
                yield f"$.{section}.{key}", match[2]
