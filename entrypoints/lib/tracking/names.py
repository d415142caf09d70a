"""The words of ``--track``."""

from __future__ import annotations

MLFLOW, TENSORBOARD = "mlflow", "tensorboard"
NAMES = (MLFLOW, TENSORBOARD)
