"""Requests for the tests: ours, rendered from flags, and those that the real SDKs sent."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from launchers.core.pipeline import Prepared, prepare
from launchers.core.spec.job import JobSpec
from launchers.sagemaker.launcher import SAGEMAKER
from launchers.sagemaker.options import SageMakerOptions
from tests.shared_source import source_of

CAPTURED = Path(__file__).parent / "captured" / "sagemaker-2.257.7"


def job(**asked: Any) -> JobSpec:
    """The JobSpec of these fields; 2 instances with 4 GPUs unless said."""
    own = {field.name for field in fields(SageMakerOptions)}
    options = SageMakerOptions(**{name: asked.pop(name) for name in list(asked) if name in own})
    asked = {"instances": 2, "gpus": 4, **asked}
    return JobSpec(provider="sagemaker", options=options, **asked)


def prepared(**asked: Any) -> Prepared:
    """What `launch sagemaker` makes of these fields."""
    spec = job(**asked)
    return prepare(SAGEMAKER, spec, source=source_of(spec))


def rendered(**asked: Any) -> dict[str, Any]:
    """The request alone, as a fresh copy."""
    return json.loads(prepared(**asked).definition.text)


@lru_cache(maxsize=1)
def _plain_text() -> str:
    return prepared().definition.text


def plain() -> dict[str, Any]:
    """The request for 2 instances with 4 GPUs and nothing else said, as a fresh copy."""
    return json.loads(_plain_text())


def captured(name: str) -> dict[str, Any]:
    """A request that a real SDK sent (the file says which version)."""
    return json.loads((CAPTURED / name).read_text(encoding="utf-8"))
