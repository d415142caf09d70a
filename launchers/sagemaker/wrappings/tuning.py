"""The training jobs of a CreateHyperParameterTuningJob request, or of the answer about one.

Source: API reference, HyperParameterTrainingJobDefinition and HyperParameterTuningResourceConfig.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launchers.core.model.unknown import Unknown
from launchers.core.wrappings.places import Places, Steps, joined
from launchers.core.wrappings.spec import Look, Spec, Wrapping
from launchers.sagemaker.wrappings.requests import request
from launchers.sagemaker.wrappings.spelling import Style, respelt, under

ONE, SEVERAL = "TrainingJobDefinition", "TrainingJobDefinitions"
_STATIC, _RESOURCES = "StaticHyperParameters", "HyperParameterTuningResourceConfig"
# What a definition says to the tuner and not to a job.
_TUNERS_OWN = ("DefinitionName", "TuningObjective", "HyperParameterRanges")


class TuningJob(Wrapping):
    """A tuning job, each of whose definitions is a request but for its name."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if not any(key in node for key in (ONE, SEVERAL)):
            return None
        return list(definitions(node, Places(place), "a hyperparameter tuning job"))


def definitions(node: Mapping[str, Any], places: Places, kind: str) -> Iterator[Spec]:
    """A spec for each definition of a tuning job with the service's own keys.

    Args:
        places: Those of the tuning job.
    """
    found: list[tuple[Steps, Any]] = [((ONE,), node.get(ONE))]
    several = node.get(SEVERAL)
    if isinstance(several, list):
        found += [((SEVERAL, index), item) for index, item in enumerate(several)]
    for steps, definition in found:
        if isinstance(definition, Mapping):
            yield _job(definition, node, places.within(*steps), kind)


def respelt_definitions(node: Mapping[str, Any], place: str, style: Style, kind: str) -> list[Spec]:
    """The same for a tuning job whose keys are spelt in another way.

    Args:
        place: Where the tuning job lies.
    """
    found: list[Spec] = []
    for name in (ONE, SEVERAL):
        key = under(node, name)
        value = node.get(key) if key is not None else None
        several = isinstance(value, list)
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(item, Mapping):
                where = joined(place, str(key), *([index] if several else []))
                found.append(_respelt(item, node, where, style, kind))
    return found


def _respelt(
    item: Mapping[str, Any], tuning: Mapping[str, Any], place: str, style: Style, kind: str
) -> Spec:
    document, places = respelt(item, place, style)
    moved: dict[Steps, str] = {}
    for name in (_STATIC, _RESOURCES, *_TUNERS_OWN):
        key = under(document, name)
        if key is not None:
            moved[(name,)] = joined(place, str(key))
            document[name] = document.pop(key)
    if _RESOURCES in document:
        where = moved[(_RESOURCES,)]
        # As a job's own: its keys are among those of a job's resources.
        inner, within = respelt({"ResourceConfig": document[_RESOURCES]}, place, style)
        document[_RESOURCES] = inner["ResourceConfig"]
        tail = {at[1:]: path for at, path in within.moved.items() if at[:1] == ("ResourceConfig",)}
        wrong = joined(place, "ResourceConfig")
        moved |= {(_RESOURCES, *at): path.replace(wrong, where, 1) for at, path in tail.items()}
    return _job(document, tuning, places.with_moved(moved), kind)


def _job(definition: Mapping[str, Any], tuning: Any, places: Places, kind: str) -> Spec:
    document = {key: value for key, value in definition.items() if key not in _TUNERS_OWN}
    for theirs, ours in ((_STATIC, "HyperParameters"), (_RESOURCES, "ResourceConfig")):
        if theirs in document and ours not in document:
            value = document.pop(theirs)
            document[ours] = _resources(value) if theirs == _RESOURCES else value
            places = places.renamed(theirs, ours)
    config = _under(tuning, "HyperParameterTuningJobConfig")
    tuned = _tuned(definition.get("HyperParameterRanges")) or _tuned(
        _under(config, "ParameterRanges")
    )
    parameters = document.get("HyperParameters")
    if tuned and isinstance(parameters, Mapping | None):
        open_values = {name: Unknown("a value of the tuner") for name in tuned}
        document["HyperParameters"] = {**(parameters or {}), **open_values}
    return request(document, places, kind, named_by="the tuner")


def _resources(value: Any) -> Any:
    """A job's resources of a tuner's: of several configurations, any may be taken."""
    if not isinstance(value, Mapping):
        return value
    resources = {key: one for key, one in value.items() if key != "AllocationStrategy"}
    if resources.pop("InstanceConfigs", None):
        for key in ("InstanceType", "InstanceCount", "VolumeSizeInGB"):
            resources.setdefault(key, Unknown("one of InstanceConfigs"))
    return resources


def _tuned(ranges: Any) -> list[str]:
    """The names of the hyperparameters that the tuner chooses."""
    if not isinstance(ranges, Mapping):
        return []
    entries = [item for group in ranges.values() if isinstance(group, list) for item in group]
    names = [_under(item, "Name") for item in entries]
    return [name for name in names if isinstance(name, str)]


def _under(node: Any, name: str) -> Any:
    """The value of a key in any spelling."""
    return node.get(under(node, name)) if isinstance(node, Mapping) else None
