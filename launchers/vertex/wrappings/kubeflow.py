"""CustomJobs in pipelines that Kubeflow Pipelines' compiler made.

A component of google_cloud_pipeline_components is a container with ``--type CustomJob --payload``,
a JSON text in which ``{{$.inputs.parameters['name']}}`` stands for the component's inputs. Their
values are the task's: a constant, else the component's default; a value that comes with the run,
or from another task, is unknown. Older compilers wrote the job itself, as ``customJob``.

Source: pipeline_spec.proto (PipelineDeploymentConfig) of github.com/kubeflow/pipelines, and what
kfp 2.17 with google-cloud-pipeline-components 2.22 gives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from launchers.core.model.unknown import Unknown
from launchers.core.wrappings.places import Places, Steps, joined
from launchers.core.wrappings.spec import Look, Spec, Wrapping
from launchers.core.wrappings.texts import json_of, matching, short, with_unknowns
from launchers.vertex.rules.service_model import camel
from launchers.vertex.wrappings.custom_jobs import SPELLING, custom_job, is_job_spec, whole_numbers

_INPUT = re.compile(r"\{\{\$\.inputs\.parameters\[['\"](?P<name>[^'\"\]]+)['\"]\]\}\}")
_ANY = r"\{\{\$.*?\}\}"
_TRAINS = ("CustomJob", "HyperparameterTuningJob")
_DEEPEST = 20


class CompiledPipeline(Wrapping):
    """A pipeline's specification, or a PipelineJob with one."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> list[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        found = _specification(node, place)
        if found is None:
            return None
        spec, where = found
        given = _given(node)
        return list(_Reader(spec, where, given).tasks(spec.get("root"), joined(where, "root"), {}))

    def lacking(self, node: Mapping[str, Any]) -> str:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if _specification(node, "$") is None:
            return ""
        return (
            "a compiled pipeline without a CustomJob; its steps run one container each, of which "
            "only the component CustomTrainingJobOp makes a job on several machines"
        )


def _specification(node: Mapping[str, Any], place: str) -> tuple[Mapping[str, Any], str] | None:
    for key in ("pipelineSpec", "pipeline_spec"):
        if isinstance(node.get(key), Mapping):
            return node[key], joined(place, key)
    is_one = isinstance(node.get("deploymentSpec"), Mapping) and "root" in node
    return (node, place) if is_one else None


def _given(node: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that a PipelineJob gives its run."""
    runtime = node.get("runtimeConfig", node.get("runtime_config"))
    values = _at(runtime, "parameterValues") or _at(runtime, "parameter_values")
    return dict(values) if isinstance(values, Mapping) else {}


@dataclass(frozen=True)
class _Input:
    """A task's input: its value, perhaps unknown, and where it stands; empty for nowhere."""

    value: Any
    place: str = ""


class _Reader:
    def __init__(self, spec: Mapping[str, Any], place: str, given: Mapping[str, Any]):
        self._spec = spec
        self._place = place
        self._given = given

    def tasks(
        self, component: Any, place: str, inputs: Mapping[str, _Input], depth: int = 0
    ) -> Iterator[Spec]:
        """The jobs of all tasks in the graph of a component.

        Args:
            inputs: The component's own.
        """
        tasks = _at(component, "dag", "tasks")
        if not isinstance(tasks, Mapping) or depth > _DEEPEST:
            return
        for name, task in tasks.items():
            label = str(_at(task, "componentRef", "name") or "")
            inner = _at(self._spec, "components", label)
            if not isinstance(inner, Mapping):
                continue
            where = joined(place, "dag", "tasks", str(name))
            at = joined(self._place, "components", label)
            own = {**self._defaults(inner, at), **self._values(task, where, inputs)}
            yield from self._job(inner, own, f"the task {short(str(name))}", where)
            yield from self.tasks(inner, at, own, depth + 1)

    def _defaults(self, component: Mapping[str, Any], place: str) -> dict[str, _Input]:
        parameters = _at(component, "inputDefinitions", "parameters")
        found = {}
        for name, one in parameters.items() if isinstance(parameters, Mapping) else ():
            where = joined(place, "inputDefinitions", "parameters", str(name), "defaultValue")
            if isinstance(one, Mapping) and "defaultValue" in one:
                found[str(name)] = _Input(one["defaultValue"], where)
        return found

    def _values(self, task: Any, place: str, inputs: Mapping[str, _Input]) -> dict[str, _Input]:
        parameters = _at(task, "inputs", "parameters")
        found = {}
        for name, one in parameters.items() if isinstance(parameters, Mapping) else ():
            where = joined(place, "inputs", "parameters", str(name))
            constant = _at(one, "runtimeValue", "constant")
            outer = _at(one, "componentInputParameter")
            if constant is not None:
                value = self._filled(constant, task, inputs)
                found[str(name)] = _Input(value, joined(where, "runtimeValue", "constant"))
            elif isinstance(outer, str):
                found[str(name)] = inputs.get(outer) or _Input(self._parameter(outer), where)
            else:
                found[str(name)] = _Input(Unknown("the output of another task"), where)
        return found

    def _parameter(self, name: str) -> Any:
        """A parameter of the whole pipeline: what the run is given, else unknown."""
        if name in self._given:
            return self._given[name]
        parameters = _at(self._spec, "root", "inputDefinitions", "parameters", name)
        default = parameters.get("defaultValue") if isinstance(parameters, Mapping) else None
        words = f" (by default {whole_numbers(default)})" if default is not None else ""
        return Unknown(short(f"the parameter {name}{words}"))

    def _filled(self, constant: Any, task: Any, inputs: Mapping[str, _Input]) -> Any:
        """A constant with what its placeholders stand for: inputs of the same task."""

        def unknown(value: Any) -> Any:
            match = _INPUT.search(value) if isinstance(value, str) else None
            if match is None:
                return matching(_ANY)(value)
            outer = _at(task, "inputs", "parameters", match["name"], "componentInputParameter")
            if not isinstance(outer, str):
                return Unknown("the output of another task")
            known = inputs[outer].value if outer in inputs else self._parameter(outer)
            whole = match[0] == value
            return known if whole or isinstance(known, Unknown) else Unknown(short(value))

        return with_unknowns(constant, unknown)

    def _job(
        self, component: Mapping[str, Any], inputs: Mapping[str, _Input], kind: str, task: str
    ) -> Iterator[Spec]:
        """The CustomJob that a component's executor makes, if it does."""
        label = component.get("executorLabel")
        executor = _at(self._spec, "deploymentSpec", "executors", str(label))
        place = joined(self._place, "deploymentSpec", "executors", str(label))
        older = _at(executor, "customJob", "customJob")
        if isinstance(older, Mapping):
            where = joined(place, "customJob", "customJob")
            known = with_unknowns(whole_numbers(older), matching(_ANY))
            yield Spec("vertex", known, Places(where), kind, SPELLING)
            return
        args = _at(executor, "container", "args")
        payload = _behind(args, "--payload")
        if _behind(args, "--type") not in _TRAINS or payload is None:
            return
        where = joined(place, "container", "args")
        yield from _filled_job(payload, inputs, where, kind, task)


def _filled_job(
    payload: str, inputs: Mapping[str, _Input], place: str, kind: str, task: str
) -> Iterator[Spec]:
    moved: dict[Steps, str] = {}
    # Placeholders of inputs become names in a text, whatever their type.
    text = re.sub(rf'"?({_INPUT.pattern})"?', lambda match: json.dumps(match[1]), payload)
    tree = json_of(text, place)

    def fill(value: Any, steps: Steps) -> Any:
        if isinstance(value, Mapping):
            named = {camel(str(key)): one for key, one in value.items()}
            return {key: fill(one, (*steps, key)) for key, one in named.items()}
        if isinstance(value, list):
            return [fill(one, (*steps, index)) for index, one in enumerate(value)]
        match = _INPUT.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            return matching(_ANY)(value) or value
        one = inputs.get(match["name"], _Input(Unknown(f"the input {match['name']}")))
        if one.place:
            moved[steps] = one.place
        return with_unknowns(whole_numbers(one.value), matching(_ANY))

    document = _given_alone(fill(tree, ()))
    key = "jobSpec" if is_job_spec(document.get("jobSpec")) else "trialJobSpec"
    spec = document.get(key)
    if not is_job_spec(spec):
        return
    found = custom_job(spec, task, kind, document, task, "the pipeline")
    inner = {("jobSpec", *at[1:]): path for at, path in moved.items() if at[0] == key}
    yield replace(found, places=Places(task, {**found.places.moved, **inner}))


def _given_alone(value: Any) -> Any:
    """Without the empty texts, lists and objects of inputs that nobody gave: the component's
    container leaves them out of what it sends."""
    if isinstance(value, Mapping):
        inner = {key: _given_alone(one) for key, one in value.items()}
        return {key: one for key, one in inner.items() if one not in ("", [], {}, None)}
    return value


def _behind(args: Any, flag: str) -> str | None:
    if not isinstance(args, list) or flag not in args:
        return None
    index = args.index(flag) + 1
    return args[index] if index < len(args) and isinstance(args[index], str) else None


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
