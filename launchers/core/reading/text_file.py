"""JSON and YAML files as Python values; what is wrong with one is a problem with its line."""

from __future__ import annotations

from typing import Any

from launchers.core.bounded import read_text
from launchers.core.catalogue import RULES
from launchers.core.json_text import NotJsonError, as_list, parse_json
from launchers.core.model.problems import LaunchError


def read_trees(file: str) -> list[Any]:
    """What ``file`` holds, document by document.

    Raises:
        LaunchError: As :func:`read_text` and :func:`parse_all` have it.
    """
    return parse_all(read_text(file), file)


def parse_all(text: str, file: str) -> list[Any]:
    """What ``text`` holds, document by document of a stream of YAML or JSON (JSON Lines): JSON
    where it is JSON, else YAML with its anchors and merges written out, dates as text, and
    CloudFormation's short functions (``!Ref x``) as their long form.

    Raises:
        LaunchError: It is neither, too large or too deep, or has a key twice in one object.
    """
    try:
        return [parse_json(text, file)]
    except NotJsonError as error:
        no_json_error = error
    from launchers.core.reading.unreadable import is_chart, no_json_of, reason_of

    stream = as_list(text)
    if stream:
        return _of_stream(stream, file)
    is_object, is_named_so = text.lstrip().startswith("{"), file.lower().endswith(".json")
    no_json = no_json_of(text, file, no_json_error) if is_object or is_named_so else None
    if no_json and is_object and is_named_so:
        raise LaunchError(no_json)
    from launchers.core.reading.yaml_nodes import compose_all
    from launchers.core.reading.yaml_values import YamlValues

    try:
        trees = [YamlValues(file, functions=True).of(node) for node in compose_all(text, file)]
    except LaunchError as error:
        # What begins or is named as JSON was meant as that, where it is no YAML either.
        reason = None if _is_bound(error) else no_json or reason_of(text, file)
        raise (LaunchError(reason) if reason else error) from None
    # A program may be YAML as well: a text of many lines.
    finished = any(isinstance(tree, (dict, list)) for tree in trees) and not is_chart(text)
    reason = None if finished else reason_of(text, file)
    if reason:
        raise LaunchError(reason)
    return trees


def _of_stream(stream: str, file: str) -> list[Any]:
    try:
        return list(parse_json(stream, file))
    except NotJsonError as error:
        from launchers.core.reading.unreadable import no_json_of

        raise LaunchError(no_json_of(stream, file, error)) from None


def _is_bound(error: LaunchError) -> bool:
    return any(problem.rule.startswith("file-too") for problem in error.problems)


def read_verbatim_mapping(file: str) -> dict[str, Any]:
    """The mapping in a YAML file, every scalar as the text that it is there (``1.10`` stays
    ``1.10``); empty where the file is.

    Raises:
        LaunchError: It cannot be read, is no YAML, or no mapping.
    """
    return verbatim_mapping(read_text(file), file)


def verbatim_mapping(text: str, file: str) -> dict[str, Any]:
    """The same of a text that was read before."""
    from launchers.core.reading.yaml_nodes import compose
    from launchers.core.reading.yaml_values import YamlValues

    tree = YamlValues(file, verbatim=lambda location: True, verbatim_null=True).of(
        compose(text, file)
    )
    return as_mapping(tree, file)


def as_mapping(tree: Any, file: str) -> dict[str, Any]:
    """``tree``, where it is a mapping; an empty one for None.

    Raises:
        LaunchError: It is something else.
    """
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        from launchers.core.reading.wrong_values import whole_shown

        raise LaunchError(RULES["file-shape"].at(file, whole_shown(tree), "a mapping of keys"))
    return tree
