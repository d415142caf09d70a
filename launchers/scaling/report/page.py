"""The report as one HTML page: no script, no request, every text of the study escaped.

The template escapes whatever is no ``Markup``; that are the stylesheet and the charts alone, which
escape their own texts. The Content-Security-Policy allows this one stylesheet by its hash, and
nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from launchers.scaling.report import svg, tables, words
from launchers.scaling.report.charts import Chart, charts
from launchers.scaling.report.marks import MARKS
from launchers.scaling.report.verdict import (
    BAD,
    GOOD,
    HEADLINE,
    NEUTRAL,
    WARNING,
    Finding,
    findings,
)
from launchers.scaling.results import Study

FOLDER = Path(__file__).parent
SIGNS = {GOOD: "+", BAD: "\u2212", NEUTRAL: "·", WARNING: "!"}
BATCHES = {
    "total": "the same total batch at every size, divided among the ranks",
    "rank": "the same batch for each rank: larger sizes take fewer, larger steps",
}


def page(study: Study) -> str:
    """The whole HTML. Pure; any text in ``study`` may be hostile."""
    style = _style()
    found = findings(study)
    return _template().render(
        style=Markup(style),
        style_hash=_hash(style),
        name=words.line(study.name),
        machine=words.line(study.machine),
        begun=words.moment(study.begun),
        headlines=[one for one in found if one.topic == HEADLINE],
        topics=_by_topic(found),
        signs=SIGNS,
        columns=tables.columns(study),
        absent=", ".join(tables.absent(study)),
        lines=tables.lines(study),
        run_heads=tables.RUN_HEADS,
        runs=list(tables.runs(study)),
        charts=charts(study),
        drawn=_drawn,
        sample=lambda number: Markup(svg.sample(number)),
        ideal_sample=lambda: Markup(svg.ideal_sample()),
        facts=_facts(study),
    )


def _facts(study: Study) -> list[tuple[str, str]]:
    runs = [run for row in study.rows for run in row.runs]
    facts = [
        ("Command", words.line(study.command, 4000)),
        ("Where", words.line(study.provider)),
        ("Machine", words.line(study.machine)),
        ("Begun", words.moment(study.begun)),
        ("Runs", f"{words.plural(len(runs), 'run')} of {words.plural(len(study.rows), 'size')}"),
        ("Batch", BATCHES.get(study.batch) or words.line(study.batch)),
    ]
    if study.load is not None:
        of = f" of {study.cores}" if study.cores else ""
        low, high = study.load
        load = f"{low:.1f} to {high:.1f}{of} cores busy with other work as runs began"
        facts.append(("Load", load))
    return facts


def _by_topic(found: Iterable[Finding]) -> list[tuple[str, list[Finding]]]:
    topics: dict[str, list[Finding]] = {}
    for one in found:
        if one.topic != HEADLINE:
            topics.setdefault(one.topic, []).append(one)
    return list(topics.items())


def _drawn(chart: Chart, width: int, height: int, name: str) -> Markup:
    return Markup(svg.drawn(chart, width, height, name))


def _style() -> str:
    """The stylesheet, with the colours of the series."""
    text = (FOLDER / "page.css").read_text("utf-8")
    light = "".join(f"--s{number}:{one.light};" for number, one in enumerate(MARKS))
    dark = "".join(f"--s{number}:{one.dark};" for number, one in enumerate(MARKS))
    return "\n".join(
        [
            text,
            f":root{{{light}}}",
            f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}",
            *(
                f".line.s{n},.bar.s{n}{{stroke:var(--s{n})}}.mark.s{n},.band.s{n}{{fill:var(--s{n})}}"
                for n in range(len(MARKS))
            ),
        ]
    )


def _hash(style: str) -> str:
    digest = hashlib.sha256(style.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        autoescape=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.j2")
