"""Makes docs/rules.md from the catalogues of rules."""

from __future__ import annotations

from infra.refresh.files import CLONE, refresh_page
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


if __name__ == "__main__":
    raise SystemExit(refresh_page(FILE, page(), "rules_page"))
