"""SageMaker's states in the words of every provider, and in words for a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from launchers.core.model.jobs import (
    FAILED,
    LOST,
    PENDING,
    RUNNING,
    STOPPED,
    STOPPING,
    SUCCEEDED,
    TIMED_OUT,
)

# SecondaryStatus -> words. Source: DescribeTrainingJob, SecondaryStatus.
_WORDS = {
    "Starting": "starting the instances",
    "LaunchingMLInstances": "starting the instances",
    "PreparingTrainingStack": "preparing the instances",
    "Pending": "waiting for instances",
    "Downloading": "downloading the input data",
    "DownloadingTrainingImage": "downloading the image",
    "Training": "training",
    "Uploading": "uploading the model",
    "Stopping": "stopping",
    "Stopped": "stopped",
    "MaxRuntimeExceeded": "stopped at its time limit (--max-runtime)",
    "MaxWaitTimeExceeded": "stopped: it waited longer than --max-wait",
    "Completed": "completed",
    "Failed": "failed",
    "Interrupted": "interrupted: the spot capacity was taken back",
    "Restarting": "starting again",
}
# The toolkit puts mpirun's whole command line behind its exit code, a thousand characters that say
# nothing of the cause (sagemaker-training 5.1.4, errors.py).
_COMMAND = re.compile(r'(?:\s*ErrorMessage "")?\s*Command ".*', re.DOTALL)
_AT_WORK = ("Training", "Uploading")
_TIMED_OUT = ("MaxRuntimeExceeded", "MaxWaitTimeExceeded")


def state_of(found: Mapping[str, Any]) -> str:
    """The state of a description; a completed job is ``succeeded`` here, whatever its proof."""
    status, secondary = found["TrainingJobStatus"], found.get("SecondaryStatus", "")
    if status == "Completed":
        return SUCCEEDED
    if status == "Failed":
        return FAILED
    if status == "Stopped":
        return TIMED_OUT if secondary in _TIMED_OUT else STOPPED
    if status == "Stopping":
        return STOPPING
    if status == "Deleting":
        return LOST
    return RUNNING if secondary in _AT_WORK else PENDING


def has_ended(found: Mapping[str, Any]) -> bool:
    """Whether the service is done with the job."""
    return found["TrainingJobStatus"] in ("Completed", "Failed", "Stopped")


def in_words(found: Mapping[str, Any]) -> str:
    """``training: Training image download completed.``"""
    secondary = str(found.get("SecondaryStatus") or found["TrainingJobStatus"])
    words = _WORDS.get(secondary, secondary)
    transitions = found.get("SecondaryStatusTransitions") or [{}]
    message = str(transitions[-1].get("StatusMessage", "")).strip()
    return f"{words} ({message})" if message else words


def reason_of(found: Mapping[str, Any]) -> str:
    """Why the job ended as it did; the service's own reason where it gives one, less the command
    that it quotes."""
    given = _COMMAND.sub("", str(found.get("FailureReason", ""))).strip().replace("\n", " ")
    if given:
        return given
    return "" if found["TrainingJobStatus"] == "Completed" else in_words(found)
