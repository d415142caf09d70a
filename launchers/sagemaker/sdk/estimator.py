"""The SageMaker SDK's estimators with a job of ours in them. Imports the SDK: only past the gate.

Only methods of the SDK's documented interface are replaced (``fit``, ``hyperparameters``,
``set_hyperparameters``), so that it holds from one 2.x to the next.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sagemaker.inputs import FileSystemInput, TrainingInput
from sagemaker.pytorch import PyTorch
from sagemaker.session import Session
from sagemaker.tensorflow import TensorFlow

from launchers.core.model.document import at, entries
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.pipeline import Prepared
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import (
    CODE_CHANNEL,
    GUARD,
    MPI_OPTIONS,
    hyperparameter,
    processes_per_host,
    starts_agent,
)
from launchers.sagemaker.planning.plan import SageMakerPlan


def new_session(region: str) -> Session:
    """A session of the SDK in ``region``, with the user's own credentials."""
    import boto3

    return Session(boto3.Session(region_name=region))


class _JobEstimator:
    """What both estimators have beside the SDK's own; comes before it in their bases.

    Attributes:
        prepared: The job with its plan, its request and its bundle.
    """

    def __init__(self, prepared: Prepared, **arguments: Any):
        self.prepared = prepared
        document = prepared.definition.document
        super().__init__(  # type: ignore[call-arg]
            entry_point=GUARD,
            # An address instead of a folder: the SDK packs and uploads nothing by itself.
            source_dir=_code(document),
            **_start(document),
            **arguments,
        )

    def fit(
        self,
        inputs: Any = None,
        wait: bool = True,
        logs: Any = "All",
        job_name: str | None = None,
        experiment_config: Any = None,
    ) -> Any:
        """Uploads the source bundle and starts the job. Blocks until it ends, where ``wait``.

        Args:
            inputs: Instead of the job's channels, in any form that the SDK takes.
            wait: As the SDK's own.
            logs: As the SDK's own.
            job_name: None, or the job's own name.
            experiment_config: As the SDK's own.

        Raises:
            LaunchError: ``job_name`` is another one, or a file of the source has changed.
        """
        name = self.prepared.definition.name
        if job_name not in (None, name):
            found = f"{job_name}; the request and its checkpoints carry {name}"
            raise LaunchError(RULES["estimator-name"].at("job_name", found))
        print(f"launch: {_ranks_text(self.prepared)}: {name}", flush=True)
        self._upload()
        return super().fit(  # type: ignore[misc]
            self._channels(inputs), wait, logs, name, experiment_config
        )

    def hyperparameters(self) -> dict[str, Any]:
        """The job's own, over what the SDK makes of entry point and distribution."""
        own: Mapping[str, str] = self.prepared.definition.document["HyperParameters"]
        return {**super().hyperparameters(), **own}  # type: ignore[misc]

    def set_hyperparameters(self, **values: Any) -> None:
        """Refused: the guard hands the script the arguments of the job and no others.

        Raises:
            LaunchError: Always.
        """
        raise LaunchError(
            RULES["estimator-hyperparameters"].at("set_hyperparameters", ", ".join(values))
        )

    def _upload(self) -> None:
        place = _code(self.prepared.definition.document)
        bucket, _, key = place.removeprefix("s3://").partition("/")
        folder, _, name = key.rpartition("/")
        with tempfile.TemporaryDirectory(prefix="launch-") as scratch:
            file = Path(scratch, name)
            try:
                self.prepared.bundle.write_tar_gz(file)
            except LaunchError as error:
                told = map(_since_it_was_made, error.problems)
                raise LaunchError(told, error.exit_code) from None
            session: Session = self.sagemaker_session  # type: ignore[attr-defined]
            session.upload_data(str(file), bucket=bucket, key_prefix=folder)

    def _channels(self, inputs: Any) -> dict[str, Any]:
        document = self.prepared.definition.document
        channels = {
            channel["ChannelName"]: channel for channel in entries(document, "InputDataConfig")
        }
        # With isolation the SDK adds the code's channel itself, from entry point and source_dir.
        code = (
            {}
            if at(document, "EnableNetworkIsolation")
            else {CODE_CHANNEL: _training_input(channels[CODE_CHANNEL])}
        )
        if inputs is None:
            del channels[CODE_CHANNEL]
            inputs = {name: _training_input(channel) for name, channel in channels.items()}
        elif not isinstance(inputs, dict):
            inputs = {"training": inputs}
        return {**inputs, **code}


class TensorFlowJob(_JobEstimator, TensorFlow):  # type: ignore[misc]
    """A job in an image with TensorFlow, or in one of the user's own."""

    def __init__(self, prepared: Prepared, **arguments: Any):
        # No argument that the script did not ask for; it reads SM_MODEL_DIR.
        super().__init__(prepared, model_dir=False, **arguments)


class PyTorchJob(_JobEstimator, PyTorch):  # type: ignore[misc]
    """A job in an image with PyTorch."""


CLASSES: Mapping[str, type] = {"tensorflow": TensorFlowJob, "pytorch": PyTorchJob}


def _start(document: Mapping[str, Any]) -> dict[str, Any]:
    """The SDK's arguments that say how the ranks are started; our agent's entry point is a field
    of the request like others."""
    if starts_agent(document):
        return {}
    mpi = {
        "enabled": True,
        "processes_per_host": processes_per_host(document),
        "custom_mpi_options": hyperparameter(document, MPI_OPTIONS),
    }
    return {"distribution": {"mpi": mpi}}


def _since_it_was_made(problem: Problem) -> Problem:
    """The same source again would differ again: in a notebook it is the estimator that is old."""
    if problem.rule != "source-changed":
        return problem
    again = "make the estimator again: launchers.sagemaker.estimator(job)"
    return replace(problem, found="changed since this estimator was made", fix=again)


def _ranks_text(prepared: Prepared) -> str:
    assert isinstance(prepared.plan, SageMakerPlan)
    return prepared.plan.ranks_text


def _code(document: Mapping[str, Any]) -> str:
    """Where the bundle of the request lies."""
    channels = entries(document, "InputDataConfig")
    found = next(channel for channel in channels if channel["ChannelName"] == CODE_CHANNEL)
    return str(at(found, "DataSource", "S3DataSource", "S3Uri"))


def _training_input(channel: Mapping[str, Any]) -> Any:
    """The SDK's input of a channel, which sends the channel as it is."""
    system = at(channel, "DataSource", "FileSystemDataSource")
    if system:
        made = FileSystemInput(
            system["FileSystemId"], system["FileSystemType"], system["DirectoryPath"]
        )
    else:
        made = TrainingInput(channel["DataSource"]["S3DataSource"]["S3Uri"])
    made.config = {key: value for key, value in channel.items() if key != "ChannelName"}
    return made
