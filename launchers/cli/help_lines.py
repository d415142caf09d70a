"""How a help shows command lines, and words beside their texts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

import click


def write_examples(formatter: click.HelpFormatter, examples: Iterable[str]) -> None:
    """The lines as they are: one that is wrapped could not be copied."""
    examples = list(examples)
    if examples:
        with formatter.section("Examples" if len(examples) > 1 else "Example"):
            for line in examples:
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def write_definitions(
    formatter: click.HelpFormatter, rows: Iterable[tuple[str, str]], width: int
) -> None:
    """Words and their texts in two columns, the first ``width`` wide; no word is broken, since it
    may be one to copy."""
    indent = formatter.current_indent
    room = max(formatter.width - indent - width - 2, 20)
    for first, text in rows:
        lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
        if len(first) > width:
            formatter.write(f"{'':{indent}}{first}\n")
            first = ""
        for line in lines or [""]:
            formatter.write(f"{'':{indent}}{first.ljust(width)}  {line}".rstrip() + "\n")
            first = ""
