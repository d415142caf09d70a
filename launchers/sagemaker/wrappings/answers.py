"""What the service itself says of a job: DescribeTrainingJob's answer, its events, CloudTrail's
records, and a request that another service keeps for it.

Source: API reference, DescribeTrainingJob, Search; EventBridge's events of SageMaker; CloudTrail's
record contents; AWS Batch, SubmitServiceJob.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from launchers.core.wrappings.places import Places, joined
from launchers.core.wrappings.spec import Look, Spec, Wrapping
from launchers.core.wrappings.texts import json_of
from launchers.sagemaker.rules.service_model import MODEL
from launchers.sagemaker.wrappings.requests import is_request, request
from launchers.sagemaker.wrappings.spelling import camel, folded, respelt, snake
from launchers.sagemaker.wrappings.tuning import respelt_definitions

# Keys of an answer that no request has.
_ANSWERED = ("TrainingJobArn", "TrainingJobStatus", "SecondaryStatus", "ResponseMetadata")
_PAYLOAD = "serviceRequestPayload"


class Described(Wrapping):
    """DescribeTrainingJob's answer, as the command line, boto3, an event and Search have it."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if str(node.get("source")) == "aws.sagemaker" and isinstance(node.get("detail"), Mapping):
            return look(node["detail"], joined(place, "detail"))
        if isinstance(node.get("Results"), list):
            return look(node["Results"], joined(place, "Results"))
        if is_request(node.get("TrainingJob")):
            return look(node["TrainingJob"], joined(place, "TrainingJob"))
        if not any(key in node for key in _ANSWERED) or not is_request(node):
            return None
        members = MODEL.shapes[MODEL.root]["members"]
        # What else is there the service adds, more with each year.
        document = {key: value for key, value in node.items() if key in members}
        return [request(document, Places(place), "a DescribeTrainingJob answer")]

    def lacking(self, node: Mapping[str, Any]) -> str:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if "TrainingJobSummaries" in node:
            return (
                "a list of training jobs without their specs, which "
                "`aws sagemaker describe-training-job` gives"
            )
        for other in ("ProcessingJobName", "TransformJobName", "AutoMLJobName"):
            if other in node:
                return f"a job of another kind ({other}), not a training job"
        return ""


class Recorded(Wrapping):
    """CloudTrail's records, one or a file of them."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if isinstance(node.get("Records"), list):
            return look(node["Records"], joined(place, "Records"))
        event, parameters = node.get("eventName"), node.get("requestParameters")
        if not isinstance(parameters, Mapping):
            return None
        where = joined(place, "requestParameters")
        document, places = respelt(parameters, where, camel)
        if event == "CreateTrainingJob":
            return [request(document, places, "a CloudTrail record")]
        if event == "CreateHyperParameterTuningJob":
            return respelt_definitions(parameters, where, camel, "a CloudTrail record")
        return None


class Submitted(Wrapping):
    """SubmitServiceJob of AWS Batch, whose payload is a request as text."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        text = node.get(_PAYLOAD)
        if not isinstance(text, str):
            return None
        where = joined(place, _PAYLOAD)
        payload = json_of(text, where)
        if not is_request(payload):
            return None
        return [request(payload, Places(where), "a service job of AWS Batch", "AWS Batch")]


class Snaked(Wrapping):
    """A resource of SageMaker's own Python client as a dictionary: keys in snake_case."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if "algorithm_specification" not in node or "resource_config" not in node:
            return None
        members = {folded(member) for member in MODEL.shapes[MODEL.root]["members"]}
        given = {
            key: value
            for key, value in node.items()
            if folded(key) in members and value is not None
        }
        answered = any(key in node for key in ("training_job_arn", "training_job_status"))
        document, places = respelt(given if answered else node, place, snake)
        return [request(document, places, "a resource of the Python client")]
