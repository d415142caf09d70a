"""Makes docs/rules.md from the catalogues of rules."""

from __future__ import annotations

import sys

from infra.refresh.files import CLONE
from launchers.core.catalogue import catalogues
from launchers.core.model.rules import Rule

FILE = CLONE / "docs" / "rules.md"
_HEAD = """# Rules

Every problem that `launch` prints names its rule in brackets, `[spot-wait]`, and
`launch explain RULE` prints what is said here. In `--json` it is the problem's `rule`. Generated
from the `rules.json` of each part of the launcher by `python -m infra.refresh.rules_page`; do not
edit.
"""
_ROWS = ("expected", "fix", "source")


def page() -> str:
    """The page's text: a chapter for each catalogue, a section for each rule."""
    chapters = []
    for room in catalogues():
        sections = [_section(rule) for _, rule in sorted(room.own.items())]
        chapters.append("\n".join([f"## {room.title}\n", *sections]))
    return "\n".join([_HEAD, *chapters])


def _section(rule: Rule) -> str:
    severity = "" if rule.severity == "error" else f" ({rule.severity})"
    said = [(name, getattr(rule, name)) for name in _ROWS]
    rows = [f"* {name.capitalize()}: {text}" for name, text in said if text]
    return (
        "\n".join(
            [
                f"### {rule.id}\n",
                f"{rule.title}{severity}. {rule.why}",
                *([""] if rows else []),
                *rows,
            ]
        )
        + "\n"
    )


def main() -> int:
    """Write the page; with ``--check`` only compare, and give 1 where it is not current."""
    if "--check" not in sys.argv[1:]:
        FILE.write_text(page(), encoding="utf-8")
        return 0
    current = FILE.is_file() and FILE.read_text(encoding="utf-8") == page()
    print("rules.md: up to date" if current else "python -m infra.refresh.rules_page")
    return 0 if current else 1


if __name__ == "__main__":
    raise SystemExit(main())
