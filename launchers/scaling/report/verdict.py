"""What a study bears, in sentences: how much faster, at which accuracy, and what can't be told.

What counts as a difference says ``comparing``; no sentence claims more than that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from launchers.core.model.jobs import FINAL_STATES, SUCCEEDED
from launchers.scaling.report import phrases, words
from launchers.scaling.report.beside import Beside, beside, larger_sizes, next_smaller, other_values
from launchers.scaling.report.comparing import ENOUGH, Certainty
from launchers.scaling.results import Row, Run, Study

# Of all cores, busy with other work as runs began: more is said.
LOAD = 0.1
HEADLINE, SIZES, TIME, VALUES, DOUBTS = "", "Sizes", "Time to an accuracy", "Values", "Doubts"
GOOD, BAD, NEUTRAL, WARNING = "good", "bad", "neutral", "warning"


@dataclass(frozen=True)
class Finding:
    """One sentence of the verdict.

    Attributes:
        text: Plain text; names in it come from the study and are not trusted.
        topic: The heading it stands under; empty for what the whole study says.
        tone: ``good``, ``bad``, ``neutral``, ``warning``.
    """

    text: str
    topic: str = HEADLINE
    tone: str = NEUTRAL


def verdict(study: Study) -> tuple[str, ...]:
    """The sentences, the most important first. Pure."""
    return tuple(finding.text for finding in findings(study))


def findings(study: Study) -> tuple[Finding, ...]:
    """The sentences with their tones, the most important first. Pure."""
    sizes, values = list(larger_sizes(study)), list(other_values(study))
    found = [
        *_headline(study, sizes),
        *(_size_finding(one, study) for one in sizes),
        *_other_work(sizes, study, SIZES),
        *(_time_finding(one, study) for one in sizes if _is_told(one)),
        *(_value_finding(one, study) for one in values),
        *_other_work(values, study, VALUES),
        *_failures(study),
        *_warnings(study),
        *_changed(study),
        *_without_chance(study),
    ]
    return tuple(found) or (Finding("Only one size and no other value: nothing to compare."),)


def _headline(study: Study, sizes: Sequence[Beside]) -> Iterator[Finding]:
    if not sizes:
        return
    counts = [one.speed.by.count for one in sizes if one.speed]
    if not counts:
        how = "`launch help scaling` shows the lines that a script prints for it"
        yield Finding(f"No two sizes said how fast they trained; {how}.", HEADLINE, WARNING)
    elif max(counts) < ENOUGH:
        runs = "One run" if max(counts) == 1 else "Two runs"
        text = "a size can't tell a difference from chance: repeat each size three times or more."
        yield Finding(f"{runs} {text}", HEADLINE, WARNING)
    else:
        yield _fastest(study, sizes)


def _fastest(study: Study, sizes: Sequence[Beside]) -> Finding:
    """The size to take, if speed is what counts."""
    best: Beside | None = None
    for one in sizes:
        if not (one.speed and one.speed.clearly_more) or _loses(one):
            continue
        step = beside(one.row, best.row) if best else None
        if step is None or (step.speed and step.speed.clearly_more and not _loses(step)):
            best = one
    if best is None or best.speed is None:
        text = "No larger size is clearly faster without a clear loss of accuracy."
        return Finding(text, HEADLINE, BAD)
    by, base = words.times(best.speed.by.median), words.size(best.base, study)
    unknown = ", accuracy unknown" if best.accuracy is None else ""
    text = f"{_name(best.row, study)}, {by} x faster than {base}{unknown}"
    return Finding(f"Fastest without a clear loss of accuracy: {text}.", HEADLINE, GOOD)


def _size_finding(one: Beside, study: Study) -> Finding:
    parts = [phrases.speed(one.speed, words.size(one.base, study))]
    step = next_smaller(one, study)
    if step is not None:
        parts.append(phrases.speed(step.speed, words.size(step.base, study)))
    if one.speed is not None:
        larger = one.row.world_size / one.base.world_size
        parts.append(f"efficiency {words.percent(one.speed.by.median / larger)}")
    parts += [phrases.accuracy(one.accuracy), phrases.cost(one.cost)]
    return Finding(f"{_name(one.row, study)}: {_joined(parts)}.", SIZES, _tone(one))


def _time_finding(one: Beside, study: Study) -> Finding:
    base = words.size(one.base, study)
    return Finding(f"{_name(one.row, study)}: {phrases.sooner(one, base)}.", TIME)


def _is_told(one: Beside) -> bool:
    """One run has no more to say of the time than of the speed."""
    return one.wait is not None and one.wait.certainty is not Certainty.SINGLE


def _value_finding(one: Beside, study: Study) -> Finding:
    mine = words.variant(one.row.size, one.base.size)
    other = words.variant(one.base.size, one.row.size)
    speed = phrases.speed(one.speed, other, "neither clearly faster nor slower than")
    parts = [phrases.accuracy(one.accuracy), speed]
    parts.append(phrases.sooner(one, other))
    name = f"{words.size(one.row, study)}, {mine} beside {other}"
    return Finding(f"{name}: {_joined(parts)}.", VALUES, _tone(one))


def _other_work(found: Sequence[Beside], study: Study, topic: str) -> Iterator[Finding]:
    """Why speeds are not compared by the time of an epoch."""
    told = [
        f"with {_name(one.row, study)} {words.times(one.work)} x the images of one with "
        f"{words.series(one.base, study)}"
        for one in found
        if one.work is not None
    ]
    if told:
        why = "an epoch is not the same work (its seconds times images a second)"
        yield Finding(f"Compared by images a second, since {why}: {'; '.join(told)}.", topic)
    elif any(one.is_coarse for one in found):
        why = "an epoch is too short for its time, which is told in hundredths"
        yield Finding(f"Compared by images a second, since {why}.", topic)


def _tone(one: Beside) -> str:
    """Green for a clear gain without a clear loss, red for a clear loss."""
    if _loses(one) or (one.speed is not None and one.speed.clearly_less):
        return BAD
    gained = one.accuracy is not None and one.accuracy.clearly_more
    return GOOD if gained or (one.speed is not None and one.speed.clearly_more) else NEUTRAL


def _loses(one: Beside) -> bool:
    return one.accuracy is not None and one.accuracy.clearly_less


def _name(row: Row, study: Study) -> str:
    """``lr-scaling linear, 4 ranks on 2 cores``; cores where the ranks have less than one each."""
    crowded = study.cores is not None and row.world_size > study.cores
    cores = f" on {words.plural(study.cores or 0, 'core')}" if crowded else ""
    return _joined([words.variant(row.size), f"{words.size(row, study)}{cores}"])


def _joined(parts: Sequence[str]) -> str:
    return ", ".join(filter(None, parts))


def _failures(study: Study) -> Iterator[Finding]:
    for row in study.rows:
        others = [run for run in row.runs if run.state != SUCCEEDED]
        name = words.series(row, study)
        if others:
            yield Finding(f"{name}: {_fate(row, others)}.", DOUBTS, WARNING)
        # One that ended well and has a reason all the same: its loss was no number.
        for run in row.runs:
            if run.state == SUCCEEDED and run.reason:
                text = f"{name}, run {run.repeat}: {words.line(run.reason).rstrip('.')}."
                yield Finding(text, DOUBTS, WARNING)


def _fate(row: Row, others: Sequence[Run]) -> str:
    """``2 of 3 runs succeeded, 1 failed (out of memory)``."""
    states = Counter(run.state if run.state in FINAL_STATES else "not ended" for run in others)
    ends = words.listed([f"{count} {state}" for state, count in states.items()])
    reasons = dict.fromkeys(words.line(run.reason).rstrip(".") for run in others if run.reason)
    why = f" ({'; '.join(reasons)})" if reasons else ""
    if len(others) == len(row.runs):
        return f"no run succeeded, {ends}{why}"
    left = len(row.runs) - len(others)
    return f"{left} of {words.plural(len(row.runs), 'run')} succeeded, {ends}{why}"


def _warnings(study: Study) -> Iterator[Finding]:
    load = study.load[1] if study.load else 0.0
    if load > LOAD * (study.cores or 1):
        of = f" of {study.cores}" if study.cores else ""
        yield Finding(
            f"Other programs kept up to {load:.1f}{of} cores busy when runs began: times are less "
            "certain.",
            DOUBTS,
            WARNING,
        )


def _changed(study: Study) -> Iterator[Finding]:
    """Files that the runs may have read in two versions."""
    if study.changed:
        names = words.line(words.listed(study.changed))
        text = "runs that read them are not alike."
        yield Finding(f"Changed while the study ran: {names}; {text}", DOUBTS, WARNING)


def _without_chance(study: Study) -> Iterator[Finding]:
    """Repeats that are all alike tell nothing of chance, and so of no difference."""
    spreads = [row.validation_accuracy for row in study.rows]
    several = [one for one in spreads if one is not None and one.count > 1]
    alike = all(one.low == one.high for one in several)
    if alike and len({one.median for one in several}) > 1:
        yield Finding(
            "The repeats of each size have exactly the same accuracy, as with one seed for all: "
            "whether accuracies differ by chance can't be told.",
            DOUBTS,
            WARNING,
        )
