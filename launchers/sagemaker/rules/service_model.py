"""What the service's own model says of CreateTrainingJob.

botocore carries that model and enforces a part of it: unknown and missing keys, types, minimums.
The rest (maximums, patterns, enumerations) is refused by the service alone, after a round trip
with credentials. `python -m infra.refresh.sagemaker_service_model` makes service_model.json.
"""

from __future__ import annotations

from pathlib import Path

from launchers.core.rules.service_model import ServiceModel

MODEL = ServiceModel(
    Path(__file__).with_name("service_model.json"),
    # Environment variables and hyperparameters, which may be credentials.
    hidden=lambda shape, member: member == "value",
    hints={"TrainingInstanceType": "`launch machines` lists them"},
)
