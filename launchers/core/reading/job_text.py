"""A launch.yaml as text, with what it came from and what changed as comments."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from launchers.core.model.problems import Problem
from launchers.core.registry import PROVIDERS, provider

_WIDTH = 98
_COMMENTS = {
    "instances": "hosts",
    "processes": "ranks on each host; left out: one a GPU",
    "max_runtime": "end the job after this time",
    "args": "the script's arguments, verbatim and in order",
}


def launch_yaml(values: Mapping[str, Any], problems: Iterable[Problem], origin: str) -> str:
    """The file's text.

    Args:
        values: Keys and values of launch.yaml, in their order.
        problems: What changed; each is a comment at the top.
        origin: What it was made from, ``config.yaml of AI Platform Training``.
    """
    import yaml

    lines = [f"# Made from {origin}. Every key: `launch schema`."]
    warnings = [problem for problem in problems if problem.severity == "warning"]
    changes = [str(replace(problem, rule="")) for problem in warnings]
    if changes:
        lines.append("# What changed:")
    for change in changes:
        lines += textwrap.wrap(
            " ".join(change.split()),
            _WIDTH,
            initial_indent="#  * ",
            subsequent_indent="#    ",
            break_on_hyphens=False,
            break_long_words=False,
        )
    lines.append("")
    for key, value in values.items():
        if key in PROVIDERS:
            lines.append(f"# what only {provider(key).title} has")
        elif key in _COMMENTS:
            lines.append(f"# {_COMMENTS[key]}")
        text = yaml.safe_dump(
            {key: value}, sort_keys=False, allow_unicode=True, default_flow_style=False, width=10**6
        )
        lines.append(text.rstrip("\n"))
    return "\n".join(lines) + "\n"
