"""Resources of AWS's controllers for Kubernetes (ACK): TrainingJob and HyperParameterTuningJob.

Source: the custom resources of github.com/aws-controllers-k8s/sagemaker-controller, and of
github.com/aws/amazon-sagemaker-operator-for-k8s, which they follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from launchers.core.wrappings.places import joined
from launchers.core.wrappings.spec import Look, Spec, Wrapping
from launchers.sagemaker.wrappings.requests import request
from launchers.sagemaker.wrappings.spelling import acronyms, respelt
from launchers.sagemaker.wrappings.tuning import respelt_definitions

_GROUP, _OLD_GROUP = "sagemaker.services.k8s.aws/", "sagemaker.aws.amazon.com/"
_KINDS = ("TrainingJob", "HyperParameterTuningJob")


class Kubernetes(Wrapping):
    """A resource, or a List of them."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        group, kind, spec = node.get("apiVersion"), node.get("kind"), node.get("spec")
        if not isinstance(group, str) or not isinstance(kind, str):
            return None
        if kind.endswith("List") and isinstance(node.get("items"), list):
            return look(node["items"], joined(place, "items"))
        if not group.startswith((_GROUP, _OLD_GROUP)) or not isinstance(spec, Mapping):
            return None
        where = joined(place, "spec")
        title = f"a {kind} of {'ACK' if group.startswith(_GROUP) else 'the old operator'}"
        if kind == "HyperParameterTuningJob":
            return respelt_definitions(spec, where, acronyms, title)
        if kind != "TrainingJob":
            return None
        document, places = respelt(
            _as_maps(spec) if group.startswith(_OLD_GROUP) else spec, where, acronyms
        )
        by = "the operator" if group.startswith(_OLD_GROUP) else ""
        return [request(document, places, title, by)]

    def lacking(self, node: Mapping[str, Any]) -> str:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        group, kind = node.get("apiVersion"), node.get("kind")
        if not isinstance(group, str) or not isinstance(kind, str):
            return ""
        if group.startswith((_GROUP, _OLD_GROUP)):
            return f"a {kind} of Kubernetes; a job lies in the spec of a {' or a '.join(_KINDS)}"
        # It may hold one as text: a ConfigMap's data.
        article = "an" if kind.startswith(("A", "E", "I", "MPI", "O")) else "a"
        return f"{article} {kind} of Kubernetes ({group}), in which no job is looked for"


def _as_maps(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The old operator's lists of name and value as the maps that they stand for."""
    result = {
        key: value for key, value in spec.items() if key not in ("region", "sageMakerEndpoint")
    }
    for key in ("hyperParameters", "environment"):
        pairs = result.get(key)
        if isinstance(pairs, list):
            result[key] = {
                item["name"]: item.get("value")
                for item in pairs
                if isinstance(item, Mapping) and isinstance(item.get("name"), str)
            }
    return result
