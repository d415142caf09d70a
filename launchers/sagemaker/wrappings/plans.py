"""Resources of Terraform that start a training job, or hold what does.

Source: the AWS provider's documentation (aws_sagemaker_training_job since 6.x; 5.100 has none).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from launchers.core.model.unknown import Unknown
from launchers.core.wrappings import terraform
from launchers.core.wrappings.places import Places, joined
from launchers.core.wrappings.spec import Look, Spec, Wrapping
from launchers.core.wrappings.texts import json_of
from launchers.sagemaker.rules.service_model import MODEL
from launchers.sagemaker.wrappings.requests import request
from launchers.sagemaker.wrappings.spelling import folded, respelt, snake

_JOB = "aws_sagemaker_training_job"
# Type -> the attribute that is a definition, as JSON text or as an object.
_DEFINITIONS = {
    "aws_sfn_state_machine": "definition",
    "aws_sagemaker_pipeline": "pipeline_definition",
    "aws_cloudformation_stack": "template_body",
    "kubernetes_manifest": "manifest",
    "awscc_stepfunctions_state_machine": "definition_string",
    "awscc_sagemaker_pipeline": "pipeline_definition",
}


class TerraformPlan(Wrapping):
    """A plan or a state as JSON."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if not terraform.is_terraform(node):
            return None
        found: list[Spec] = []
        for resource in terraform.resources(node, place):
            if resource.type == _JOB:
                found.append(_job(resource))
            elif resource.type in _DEFINITIONS:
                where = joined(resource.place, _DEFINITIONS[resource.type])
                value = resource.values.get(_DEFINITIONS[resource.type])
                inner = json_of(value, where) if isinstance(value, str) else value
                found += [
                    replace(spec, kind=f"{spec.kind} of {resource.address}".removeprefix(" of "))
                    for spec in look(inner, where) or ()
                ]
        return found

    def lacking(self, node: Mapping[str, Any]) -> str:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if terraform.is_configuration(node):
            return (
                "Terraform's own language, as JSON; `terraform plan -out=PLAN && terraform show "
                "-json PLAN` gives a plan that is read"
            )
        if not terraform.is_terraform(node):
            return ""
        open_ones = [
            resource.address
            for resource in terraform.resources(node, "$")
            if isinstance(resource.values.get(_DEFINITIONS.get(resource.type, "")), Unknown)
        ]
        if open_ones:
            return f"what Terraform prints; the definition of {open_ones[0]} is known after apply"
        return f"what Terraform prints, without {_JOB} and without {', '.join(_DEFINITIONS)}"


def _job(resource: terraform.Resource) -> Spec:
    members = {folded(member) for member in MODEL.shapes[MODEL.root]["members"]}
    # Computed attributes (arn, id) and what the provider itself is told are none of the request's.
    given = {key: value for key, value in resource.values.items() if folded(key) in members}
    tags = given.pop("tags", None)
    document, places = respelt(given, resource.place, snake, blocks=True)
    if isinstance(tags, Mapping) and tags:
        document["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
        places = places.with_moved(
            {("Tags", i): joined(resource.place, "tags", str(key)) for i, key in enumerate(tags)}
        )
    return request(document, Places(resource.place, places.moved, snake), resource.address)
