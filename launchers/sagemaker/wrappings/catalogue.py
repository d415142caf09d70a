"""Every wrapping of a CreateTrainingJob request that is known."""

from __future__ import annotations

from collections.abc import Sequence

from launchers.core.wrappings.spec import Wrapping
from launchers.sagemaker.wrappings.airflow import Airflow
from launchers.sagemaker.wrappings.answers import Described, Recorded, Snaked, Submitted
from launchers.sagemaker.wrappings.argo import Workflow
from launchers.sagemaker.wrappings.kubernetes import Kubernetes
from launchers.sagemaker.wrappings.pipelines import Pipeline
from launchers.sagemaker.wrappings.plans import TerraformPlan
from launchers.sagemaker.wrappings.states import StateMachine
from launchers.sagemaker.wrappings.templates import Scheduled, SdkCall, Template
from launchers.sagemaker.wrappings.tuning import TuningJob

WRAPPINGS: Sequence[Wrapping] = (
    Described(),
    TuningJob(),
    Workflow(),
    Kubernetes(),
    StateMachine(),
    Pipeline(),
    Template(),
    Scheduled(),
    SdkCall(),
    TerraformPlan(),
    Recorded(),
    Submitted(),
    Snaked(),
    Airflow(),
)
