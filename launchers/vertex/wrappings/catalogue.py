"""Every wrapping of a CustomJob that is known."""

from __future__ import annotations

from collections.abc import Sequence

from launchers.core.wrappings.spec import Wrapping
from launchers.vertex.wrappings.kubeflow import CompiledPipeline
from launchers.vertex.wrappings.resources import Call, Described, TrainingPipeline, TuningJob

WRAPPINGS: Sequence[Wrapping] = (
    Described(),
    TuningJob(),
    TrainingPipeline(),
    CompiledPipeline(),
    Call(),
)
