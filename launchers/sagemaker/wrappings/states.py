"""States of Step Functions that start a training job or a tuning job.

Source: Step Functions' developer guide, "Create and manage Amazon SageMaker AI jobs", and the
Amazon States Language: keys that end in ``.$`` take a path or an intrinsic function, and with
JSONata a text in ``{% %}`` is an expression. A definition in a file of its own may have ``${ }``,
for which SAM or Terraform puts a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launchers.core.model.unknown import Unknown
from launchers.core.wrappings.places import Places, Steps, joined
from launchers.core.wrappings.spec import Look, Spec, Wrapping
from launchers.core.wrappings.texts import json_of, matching, short
from launchers.sagemaker.wrappings.requests import open_request, request
from launchers.sagemaker.wrappings.tuning import definitions

_RESOURCE = re.compile(
    r":states:::(?:aws-sdk:)?sagemaker:create(?P<what>TrainingJob|HyperParameterTuningJob)\b",
    re.IGNORECASE,
)
_EXPRESSION = matching(r"^\{%.*%\}$")
# What SAM's DefinitionSubstitutions, Terraform's templatefile and their like fill in. In a shell's
# words it is a variable of the container.
_SUBSTITUTION = matching(r"\$\{[^{}]*\}")
_SHELL = frozenset(("ContainerEntrypoint", "ContainerArguments"))
_PATH_KEY = ".$"
# Where more states lie in a state.
_BRANCHES, _INNER = "Branches", ("Iterator", "ItemProcessor")


class StateMachine(Wrapping):
    """A state machine, one of its states, or what describe-state-machine says of one."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if "stateMachineArn" in node and isinstance(node.get("definition"), str):
            where = joined(place, "definition")
            return look(json_of(node["definition"], where), where)
        if is_machine(node):
            return list(_in_machine(node, place))
        if node.get("Type") == "Task" and "Resource" in node:
            return list(_in_state(node, place, ""))
        return None

    def lacking(self, node: Mapping[str, Any]) -> str:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if not is_machine(node):
            return ""
        return (
            "a Step Functions state machine without a state whose Resource is "
            "arn:aws:states:::sagemaker:createTrainingJob"
        )


def is_machine(node: object) -> bool:
    """Whether it is a state machine in Amazon States Language."""
    return (
        isinstance(node, Mapping) and isinstance(node.get("States"), Mapping) and "StartAt" in node
    )


def _in_machine(machine: Any, place: str) -> Iterator[Spec]:
    states = machine.get("States") if isinstance(machine, Mapping) else None
    if not isinstance(states, Mapping):
        return
    for name, state in states.items():
        if isinstance(state, Mapping):
            yield from _in_state(state, joined(place, "States", str(name)), str(name))


def _in_state(state: Mapping[str, Any], place: str, name: str) -> Iterator[Spec]:
    found = _RESOURCE.search(str(state.get("Resource")))
    if found:
        kind = f"the state {short(name)}" if name else "a state of Step Functions"
        yield from _in_task(state, place, kind, found["what"].lower() == "trainingjob")
    branches = state.get(_BRANCHES)
    for index, branch in enumerate(branches if isinstance(branches, list) else []):
        yield from _in_machine(branch, joined(place, _BRANCHES, index))
    for key in _INNER:
        yield from _in_machine(state.get(key), joined(place, key))


def _in_task(state: Mapping[str, Any], place: str, kind: str, trains: bool) -> Iterator[Spec]:
    key = next((one for one in ("Parameters", "Arguments") if one in state), "")
    if not key:
        yield open_request(Unknown("the state's input"), place, kind)
        return
    where = joined(place, key)
    moved: dict[Steps, str] = {}
    parameters = _read(state[key], (), where, moved)
    if isinstance(parameters, Unknown):
        yield open_request(parameters, where, kind)
    elif not isinstance(parameters, Mapping):
        yield request({}, Places(where), kind)
    elif trains:
        yield request(parameters, Places(where, moved), kind)
    else:
        yield from definitions(parameters, Places(where, moved), kind)


def _read(value: Any, steps: Steps, place: str, moved: dict[Steps, str]) -> Any:
    """What a state sends, with an unknown for each path and expression.

    Args:
        moved: Takes the places of keys that lose their ``.$``.
    """
    if isinstance(value, Mapping):
        result: dict[Any, Any] = {}
        for key, entry in value.items():
            where = joined(place, str(key))
            if isinstance(key, str) and key.endswith(_PATH_KEY):
                plain = key[: -len(_PATH_KEY)]
                here = (*steps, plain)
                moved[here] = where
                result[plain] = entry if isinstance(entry, Unknown) else Unknown(short(str(entry)))
            else:
                result[key] = _read(entry, (*steps, str(key)), where, moved)
        return result
    if isinstance(value, list):
        return [
            _read(entry, (*steps, index), joined(place, index), moved)
            for index, entry in enumerate(value)
        ]
    if _SHELL.intersection(steps):
        return _EXPRESSION(value) or value
    return _EXPRESSION(value) or _SUBSTITUTION(value) or value
