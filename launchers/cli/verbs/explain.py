"""`launch explain`: what a rule protects from, and how to keep it."""

from __future__ import annotations

from dataclasses import asdict

import click

from launchers.cli.catalogue import RULES
from launchers.cli.completion import values
from launchers.cli.show.output import answer, tell
from launchers.cli.show.table import table
from launchers.cli.verb import Verb
from launchers.core.catalogue import catalogues
from launchers.core.model.problems import LaunchError, did_you_mean


@click.command(
    "explain",
    cls=Verb,
    examples=("launch explain spot-wait",),
    help="Explain a RULE: the word in brackets in a problem.",
)
@click.argument("rule", required=False, shell_complete=values.rules)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def command(rule: str | None, as_json: bool) -> int:
    """Print one rule, or the table of all."""
    known = {one.id: (one, room.title) for room in catalogues() for one in room.own.values()}
    if rule is None:
        if as_json:
            answer([asdict(one) for one, _ in known.values()])
        else:
            rows = [(one.id, about, one.title) for one, about in known.values()]
            columns = ("RULE", "ABOUT", "WHAT MUST HOLD")
            table(columns, rows, may_go=["ABOUT"], prose="WHAT MUST HOLD")
        return 0
    name = rule.strip("[]")
    if name not in known:
        hint = did_you_mean(name, known) or "`launch explain` lists them"
        raise LaunchError(RULES["rule-unknown"].at("RULE", rule, fix=hint))
    one, about = known[name]
    if as_json:
        answer(asdict(one))
        return 0
    tell(f"{one.id}: {one.title}")
    said = {"about": about, "why": one.why, "expected": one.expected, "fix": one.fix}
    for label, text in {**said, "source": one.source, "severity": one.severity}.items():
        if text:
            tell(f"  {label.ljust(8)}  {text}")
    return 0
