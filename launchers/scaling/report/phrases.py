"""The parts of a verdict's sentences: what a comparison bears, in words, with its figures."""

from __future__ import annotations

from launchers.scaling.report import words
from launchers.scaling.report.beside import Beside
from launchers.scaling.report.comparing import Certainty, Comparison


def speed(found: Comparison | None, other: str, noise: str = "not clearly faster than") -> str:
    """``1.7 x faster than 1 rank (1.6 to 1.8, 3 runs)``.

    Args:
        found: Ratios of speed.
        other: What it was compared with.
        noise: The words for no difference, before ``other``.
    """
    if found is None:
        return f"speed beside {other} unknown"
    by = words.times(found.by.median)
    if found.certainty is Certainty.SINGLE:
        return f"{by} x the speed of {other} in one run, which can't tell it from chance"
    if found.certainty is Certainty.NOISE:
        return f"{noise} {other} ({_ratios(found)}, within noise)"
    if found.more:
        return f"{_seems(found)}{by} x faster than {other} ({_ratios(found)})"
    return f"{_seems(found)}slower than {other}: {by} x its speed ({_ratios(found)})"


def accuracy(found: Comparison | None) -> str:
    """``accuracy lower by 0.0120 (0.0100 to 0.0150, 3 runs)``; ``found`` are differences."""
    if found is None:
        return "accuracy unknown"
    mine, other = words.share(found.mine.median), words.share(found.other.median)
    if found.certainty is Certainty.SINGLE:
        return f"accuracy {mine} against {other}, which one run can't tell from chance"
    if found.certainty is Certainty.NOISE:
        return f"accuracy within noise ({mine} against {other})"
    low, high = sorted((abs(found.by.low), abs(found.by.high)))
    by = f"{'higher' if found.more else 'lower'} by {words.share(abs(found.by.median))}"
    spread = f"{words.share(low)} to {words.share(high)}, {_runs(found)}"
    return f"accuracy {_seems(found)}{by} ({spread})"


def sooner(one: Beside, other: str) -> str:
    """``reaches accuracy 0.871 after 41.2 s, 1 rank after 65.0 s: 1.6 x sooner (...)``; empty
    where that isn't known."""
    found = one.wait
    if found is None or one.target is None:
        return ""
    mine, theirs = words.seconds(found.mine.median), words.seconds(found.other.median)
    said = f"reaches accuracy {one.target:.3f} after {mine} s, {other} after {theirs} s"
    if found.certainty is Certainty.SINGLE:
        return f"{said}, in one run"
    if found.certainty is Certainty.NOISE:
        return f"{said}: within noise ({_runs(found)})"
    if found.more:
        by = f"{words.times(found.by.median)} x as long ({_ratios(found)})"
    else:
        by = f"{words.times(1 / found.by.median)} x sooner ({_ratios(found, inverse=True)})"
    return f"{said}: {_seems(found)}{by}"


def cost(found: Comparison | None) -> str:
    """``$1.20 a run against $0.90``; empty where it isn't known."""
    if found is None:
        return ""
    mine, other = words.dollars(found.mine.median), words.dollars(found.other.median)
    return f"{mine} a run against {other}"


def _ratios(found: Comparison, inverse: bool = False) -> str:
    low, high = found.by.low, found.by.high
    if inverse:
        low, high = 1 / high, 1 / low
    digits = 1 if low >= 1.25 and f"{low:.1f}" != f"{high:.1f}" else 2
    return f"{low:.{digits}f} to {high:.{digits}f}, {_runs(found)}"


def _runs(found: Comparison) -> str:
    few = found.certainty is Certainty.FEW
    return f"{'only ' if few else ''}{words.plural(found.by.count, 'run')}"


def _seems(found: Comparison) -> str:
    return "seems " if found.certainty is Certainty.FEW else ""
