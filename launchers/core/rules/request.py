"""``request:`` of launch.yaml: fields of the service's own document that no flag has.

They are laid over the document that the flags make: mappings are merged, lists replace. What a
flag sets, what the launcher writes itself, and what changes which hosts take part is refused; the
rest is checked by the service's own model, and the merged document by every rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.credentials.elsewhere import masked
from launchers.core.credentials.search import problems_in_environment
from launchers.core.model.problems import Problem, errors
from launchers.core.planning.plan import Row
from launchers.core.rules.model_check import place, shortened, shown, wrong_type
from launchers.core.rules.service_model import ServiceModel
from launchers.core.spec.job import JobSpec
from launchers.core.spec.option import key_of, option_fields


@dataclass(frozen=True)
class Request:
    """What ``request:`` adds to a job's document.

    Attributes:
        fields: The fields that may be said, as the document has them.
        problems: What is wrong with the others.
        origin: The files that say it.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    origin: str = ""

    @property
    def rows(self) -> list[Row]:
        """A row of the plan for each field that is sent."""
        return [
            Row("request", f"{path} = {shortened(_shown(path, value))}", self.origin)
            for path, value in leaves(self.fields)
        ]


def _shown(path: str, value: Any) -> str:
    name = path.rpartition(".")[2]
    text = masked(value, name) if isinstance(value, str) else value
    return json.dumps(text, ensure_ascii=False)


@dataclass(frozen=True)
class Block:
    """What ``request:`` of one provider may say.

    Attributes:
        name: Where it stands in launch.yaml, ``sagemaker.request``.
        model: The service's own.
        file: request_fields.json. Under ``refused`` the fields that may not be said, by their
            path: each with the ``flag`` that sets it, the ``reason`` why nobody may, or what it
            would change about the ``hosts``. Under ``each`` the lists in whose place a mapping
            stands, which is merged into their entries; with what is said to a list.
    """

    name: str
    model: ServiceModel
    file: Path

    @cached_property
    def table(self) -> Mapping[str, Any]:
        """The file's content."""
        table: dict[str, Any] = json.loads(self.file.read_bytes())
        return table

    def read(self, job: JobSpec) -> Request:
        """What ``job`` asks for. Pure; a job that has no such block costs nothing."""
        given: Mapping[str, Any] = job.options.request
        if not given:
            return Request()
        origin = job.origins.get("request", "")
        where = f"{origin}: {self.name}" if origin else self.name
        problems: list[Problem] = []
        fields = self._fields(self.model.root, given, "", where, problems)
        allowed = frozenset(job.allow_values)
        for path, text in texts(fields):
            key = path.rpartition(".")[2].partition("[")[0]
            found = problems_in_environment({key: text}, where, allowed)
            problems += [replace(one, path=f"{where}.{path}") for one in found]
        return Request(fields, tuple(problems), origin)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of what may be said, for editors."""
        return self._schema(self.model.root, "", whole=False)

    def _fields(
        self, name: str, given: Mapping[str, Any], path: str, where: str, problems: list[Problem]
    ) -> dict[str, Any]:
        """The fields of the structure ``name`` that may be said.

        Args:
            path: Where it stands in the document, ``ResourceConfig``.
            where: The same in the words of the file.
        """
        kept: dict[str, Any] = {}
        for key, value in given.items():
            below, there = f"{path}.{key}" if path else key, place(where, key)
            found = self._refused(below, value, there) or self._unknown(name, key, path, there)
            inner = None if found else self._merged(self.model.shapes[name]["members"][key], below)
            if inner and isinstance(value, dict):
                part = self._fields(inner, value, below, there, problems)
                # One of which nothing may be said would only lack what the service requires.
                if part or not value:
                    kept[key] = part
                continue
            if inner:
                found = [wrong_type(value, "an object", there)]
            elif not found:
                found = self.model.check_part(self._member(name, key), value, there)
            problems += found
            if not errors(found):
                kept[key] = value
        return kept

    def _member(self, name: str, key: str) -> str:
        return str(self.model.shapes[name]["members"][key])

    def _merged(self, name: str, path: str) -> str | None:
        """The structure that is merged field by field; None for what is taken whole."""
        shape = self.model.shapes[name]
        if path in self.table["each"]:
            return str(shape["member"])
        return name if shape["type"] == "structure" else None

    def _refused(self, path: str, value: object, where: str) -> list[Problem]:
        if path in self.table["each"] and isinstance(value, list):
            return [RULES["request-hosts"].at(where, "a list", fix=self.table["each"][path])]
        entry = self.table["refused"].get(path)
        if entry is None:
            return []
        if "hosts" in entry:
            return [RULES["request-hosts"].at(where, shown(value), fix=entry["hosts"])]
        fix = f"use {entry['flag']}" if "flag" in entry else entry["reason"]
        return [RULES["request-field"].at(where, shown(value), fix=fix)]

    def _unknown(self, name: str, key: str, path: str, where: str) -> list[Problem]:
        if key in self.model.shapes[name]["members"]:
            return []
        problem = self.model.unknown(name, key, f"$.{path}" if path else "$")
        fix = problem.fix.replace("$.", f"{self.name}.")
        homes = [one for one in self.table["refused"] if one.rpartition(".")[2] == key]
        if homes and "flag" in self.table["refused"][homes[0]]:
            fix = f"use {self.table['refused'][homes[0]]['flag']}"
        elif key in {key_of(item) for item, _ in option_fields(JobSpec)}:
            fix = f"`{key}:` belongs at the top of launch.yaml"
        return [replace(problem, path=where, fix=fix)]

    def _schema(self, name: str, path: str, whole: bool) -> dict[str, Any]:
        """Args:
        whole: Whether the value is taken whole, so that it needs what the service requires.
        """
        shape = self.model.shapes[name]
        merged = self._merged(name, path)
        if merged is None:
            if shape["type"] == "list":
                return {"type": "array", "items": self._schema(shape["member"], f"{path}[]", True)}
            if shape["type"] == "map":
                values = self._schema(shape["value"], f"{path}{{}}", True)
                return {"type": "object", "additionalProperties": values}
            return _leaf_schema(shape)
        shape, properties = self.model.shapes[merged], {}
        for key, target in shape["members"].items():
            below = f"{path}.{key}" if path else key
            if below not in self.table["refused"]:
                properties[key] = self._schema(target, below, whole)
        needed = {"required": list(shape["required"])} if whole and shape.get("required") else {}
        return {"type": "object", "properties": properties, "additionalProperties": False, **needed}


def laid_over(document: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """``document`` with ``fields`` on top: mappings are merged, everything else replaces. Pure."""
    result = dict(document)
    for key, value in fields.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            result[key] = laid_over(below, value)
        else:
            result[key] = value
    return result


def leaves(fields: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that replaces one of the document, with its path; a list whole."""
    for key, value in fields.items():
        below = f"{path}.{key}" if path else key
        if isinstance(value, Mapping) and value:
            yield from leaves(value, below)
        else:
            yield below, value


def texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text in ``value``, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from texts(entry, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from texts(entry, f"{path}[{index}]")


_JSON_TYPES = {"boolean": "boolean", "float": "number", "double": "number"}
_WHOLE_NUMBERS = ("integer", "long")


def _leaf_schema(shape: Mapping[str, Any]) -> dict[str, Any]:
    # The services' patterns are not those of JSON schema; the check of the model has them.
    if "enum" in shape or "numbers" in shape:
        return {"enum": list(shape.get("enum", shape.get("numbers")))}
    if shape["type"] in _WHOLE_NUMBERS:
        names = {"min": "minimum", "max": "maximum"}
        return {"type": "integer", **{names[key]: shape[key] for key in names if key in shape}}
    if shape["type"] in ("int32", "int64"):
        return {"type": ["integer", "string"]}
    if shape["type"] in _JSON_TYPES:
        return {"type": _JSON_TYPES[shape["type"]]}
    names = {"min": "minLength", "max": "maxLength"}
    bounds = {names[key]: shape[key] for key in names if shape.get(key)}
    return {} if shape["type"] == "any" else {"type": "string", **bounds}
