"""Makes launchers/sagemaker/rules/service_model.json from the installed botocore.

botocore's model of SageMaker is two megabytes; what CreateTrainingJob accepts is a hundredth of it.
"""

from __future__ import annotations

import argparse
from typing import Any

from infra.refresh.files import SAGEMAKER, Document, file_of, main, read_json, version_of
from infra.refresh.java_patterns import python_pattern

FILE = SAGEMAKER / "rules" / "service_model.json"
MODEL = "data/sagemaker/2017-07-24/service-2.json.gz"
ROOT = "CreateTrainingJobRequest"

_LIMITS = ("min", "max", "pattern", "enum", "required")


def make(options: argparse.Namespace, old: Document) -> Document:
    """The constraints of the request, each shape once, with only what a check needs."""
    service = read_json(file_of("botocore", MODEL))["shapes"]
    shapes: Document = {}
    _collect(ROOT, service, shapes)
    patterns = sorted({shape["pattern"] for shape in shapes.values() if "pattern" in shape})
    return {
        "about": f"What the service's own model says of {ROOT}. Generated; do not edit.",
        "sources": {"botocore": f"botocore {version_of('botocore')}, {MODEL}"},
        "date": "",
        "root": ROOT,
        # A pattern that `re` reads as the service does is not listed.
        "python_patterns": {
            pattern: python_pattern(pattern)
            for pattern in patterns
            if python_pattern(pattern) != pattern
        },
        "shapes": dict(sorted(shapes.items())),
    }


def _collect(name: str, service: dict[str, Any], shapes: Document) -> None:
    if name in shapes:
        return
    shape = service[name]
    constraints: Document = {"type": shape["type"]}
    constraints.update({limit: shape[limit] for limit in _LIMITS if shape.get(limit) is not None})
    shapes[name] = constraints
    for part in ("member", "key", "value"):
        if part in shape:
            constraints[part] = shape[part]["shape"]
            _collect(constraints[part], service, shapes)
    if shape["type"] == "structure":
        constraints["members"] = {
            member: target["shape"] for member, target in shape["members"].items()
        }
        for target in constraints["members"].values():
            _collect(target, service, shapes)


if __name__ == "__main__":
    raise SystemExit(main("infra.refresh.sagemaker_service_model", FILE, make))
