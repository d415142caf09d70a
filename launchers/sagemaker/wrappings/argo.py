"""Workflows of Argo, whose steps make a resource of Kubernetes of a manifest: a text of YAML.

Source: Argo Workflows' documentation, "Kubernetes Resources" and "Workflow Variables".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launchers.core.wrappings.places import joined
from launchers.core.wrappings.spec import Look, Spec, Wrapping
from launchers.core.wrappings.texts import Marks

_GROUP = "argoproj.io/"
_KINDS = ("Workflow", "CronWorkflow", "WorkflowTemplate", "ClusterWorkflowTemplate")
# Actions of a step that make nothing of the manifest.
_LOOKS = ("get", "delete")
# What a run fills in.
_VARIABLE = r"\{\{.*?\}\}"


class Workflow(Wrapping):
    """A workflow, or a template of one."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if not _is_workflow(node):
            return None
        found: list[Spec] = []
        for text, where in _manifests(node.get("spec"), joined(place, "spec")):
            for part, at in _resources(text, where):
                found += look(part, at) or []
        return found

    def lacking(self, node: Mapping[str, Any]) -> str:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if not _is_workflow(node):
            return ""
        return (
            "an Argo workflow without a step whose resource.manifest is a TrainingJob of ACK; what "
            "its containers start is not looked for"
        )


def _is_workflow(node: Mapping[str, Any]) -> bool:
    return str(node.get("apiVersion")).startswith(_GROUP) and node.get("kind") in _KINDS


def _manifests(node: Any, place: str) -> Iterator[tuple[str, str]]:
    """Each manifest in a workflow's spec, and where it lies."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _manifests(item, joined(place, index))
    elif isinstance(node, Mapping):
        for key, item in node.items():
            where = joined(place, str(key))
            makes = key == "resource" and isinstance(item, Mapping)
            manifest = item.get("manifest") if makes and item.get("action") not in _LOOKS else None
            if isinstance(manifest, str):
                yield manifest, joined(where, "manifest")
            else:
                yield from _manifests(item, where)


def _resources(text: str, place: str) -> Iterator[tuple[Any, str]]:
    """The resources of a manifest, with an unknown for each variable.

    Raises:
        LaunchError: It is no YAML.
    """
    from launchers.core.reading.text_file import parse_all

    marks = Marks()
    trees = [marks.unmarked(tree) for tree in parse_all(marks.marked(text, _VARIABLE), place)]
    filled = [tree for tree in trees if tree is not None]
    for index, tree in enumerate(trees):
        if tree is not None:
            yield tree, place if len(filled) == 1 else joined(place, index)
