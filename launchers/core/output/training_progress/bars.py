"""The bars of tqdm, also in Lightning and in the Trainer of Hugging Face; Lightning's by rich::

Epoch 0:  50%|█████     | 5/10 [00:01<00:01,  4.90it/s, v_num=0, train_loss=0.300]
 40%|████      | 200/500 [00:40<01:00,  5.00it/s]
Epoch 0/4 ━━━━━━━━━━━━━━━━━━━━ 5/10 0:00:01 • 0:00:01 4.90it/s v_num: 0.000 train_loss: 0.300
Epochs:  30%|███       | 3/10 [00:30<01:10, 10.0s/epoch]
  1/100  2.1G  1.234  2.345  1.234  16  640:  50%|█████     | 31/62 [00:05<00:05,  6.0it/s]
  1/100  2.1G  1.234  2.345  1.234  16  640: 50% ━━━━━━────── 31/62 6.0it/s 5.1s<5.2s
"""

from __future__ import annotations

import re
import string

from launchers.core.output.training_progress import numbers
from launchers.core.output.training_progress.told import (
    BAR,
    EPOCH,
    IMAGES,
    LIGHTNING,
    SAMPLES,
    STEPS,
    Told,
)

_MARK = "%|"
_BEHIND = re.compile(r"[^|]*\|\s*(\d+)/(\d+|\?)\s*\[([^\]]*)\]?")
_UNBOUNDED = re.compile(r"(Epoch \d+): (?:\|\s*\| )?(\d+)(?:/\?|it) \[([^\]]*)\]?")
_TIMES = re.compile(r"([\d:]+)(?:<([\d:?]+))?")
_RATE = re.compile(r"([\d.]+) ?([A-Za-z]+)/s|([\d.]+) ?s/([A-Za-z]+)|\? ?([A-Za-z]+)/s")
_EPOCH = re.compile(
    r"(?:^|[\s(\[])epoch(?:\s*[:#])?\s*\[?(\d+)(?:\s*(?:/|of)\s*(\d+))?\]?", re.IGNORECASE
)
_UNITS = {
    **dict.fromkeys(("it", "step", "steps", "batch", "batches", "ba"), STEPS),
    **dict.fromkeys(("img", "imgs", "image", "images"), IMAGES),
    **dict.fromkeys(("sample", "samples", "example", "examples"), SAMPLES),
}
# What else has a bar while a job runs, and trains nothing.
_OTHER = re.compile(
    r"valid|sanity|\btest|predict|\beval|infer|\bmap\b|filter|load|fetch|generating|token|"
    r"\bsav|extract|shard|cach|import|prepar|\bval\b|scanning|(?:de|en)coding|converting|resizing|"
    r"unpack|unzip|preprocess|reading|indexing|computing|^class +images\b",
    re.IGNORECASE,
)
# A bar whose steps are epochs, around those of the batches.
_EPOCHS = re.compile(r"(?:[a-z]+ )?epochs", re.IGNORECASE)
_EPOCH_UNITS = ("epoch", "epochs", "ep")
# Ultralytics': epoch, memory of the GPU, losses.
_COLUMNS = re.compile(r"(\d+)/(\d+) +[\d.]+[KMGT]? ")
_COLUMNS_BAR = re.compile(
    r"(\d+)/(\d+) +[\d.]+[KMGT]? .*: \d{1,3}% [━╸─]+ (\d+)/(\d+)"
    r"(?: +([\d.]+)(it/s|s/it))?(?: +[\d.:]+s?(?:<([\d.:]+)(s?))?)?"
)
_RICH = re.compile(
    r"Epoch (\d+)(?:/(\d+))?\s[━╸╺─\s]*(\d+)/(\d+|--)\s+[\d:-]+ • ([\d:-]+)\s+([\d.]+)it/s(.*)"
)
_RICH_METRIC = re.compile(r"(?<!\S)(\S{1,80}): (\S+)")
_NO_METRIC = "v_num"  # the number of a version of the log, Lightning's


def parse(text: str) -> Told | None:
    """What a bar of a training says; None for any other line, and for bars of other work."""
    text = text.strip()
    if " • " in text and (match := _RICH.match(text)):
        return _by_rich(match)
    if "% " in text and (match := _COLUMNS_BAR.fullmatch(text)):
        return _by_columns(match)
    at = text.find(_MARK)
    if at < 0:
        unbounded = _UNBOUNDED.match(text)
        return _bar(unbounded[1], unbounded[2], "?", unbounded[3]) if unbounded else None
    title = _title(text[:at])
    behind = _BEHIND.match(text, at + len(_MARK))
    if title is None or behind is None:
        return None
    return _bar(title, behind[1], behind[2], behind[3])


def _title(text: str) -> str | None:
    """What stands before a bar's percentage; None where that is no percentage. By hand: a pattern
    for it takes minutes on a line full of blanks."""
    head = text.rstrip(string.digits)
    if not 1 <= len(text) - len(head) <= 3 or (head and not head[-1].isspace()):
        return None
    return head.strip().removesuffix(":")


def _bar(title: str, done: str, total: str, inner: str) -> Told | None:
    times, _, rest = inner.partition(",")
    speed, _, postfix = rest.strip().partition(",")
    between, rated = _TIMES.fullmatch(times.strip()), _RATE.fullmatch(speed.strip())
    if between is None or rated is None or _OTHER.search(title):
        return None
    word = (rated[2] or rated[4] or rated[5]).lower()
    if word in _EPOCH_UNITS or _EPOCHS.fullmatch(title):
        return _of_epochs(done, total, postfix)
    unit = _UNITS.get(word)
    if unit is None:
        return None
    pace = numbers.positive(rated[3])
    rate = numbers.positive(rated[1]) or (1 / pace if pace else None)
    named = _EPOCH.search(title) or _COLUMNS.match(title)
    pairs = _pairs(postfix)
    step, steps = numbers.whole(done), numbers.whole(total)
    is_lightning = bool(named) and any(name == _NO_METRIC for name, _ in pairs)
    number = numbers.whole(named[1]) if named else None
    return Told(
        LIGHTNING if is_lightning else BAR,
        epoch=number,
        from_zero=is_lightning or number == 0,
        epochs=numbers.whole(named[2]) if named and named[2] else None,
        step=step,
        steps=steps,
        counted=STEPS if unit == STEPS else SAMPLES,
        of=EPOCH if named else "",
        rate=rate,
        unit=unit,
        metrics=_metrics(pairs),
        left=numbers.seconds(between[2]),
        passing=steps is None or step != steps,
    )


def _of_epochs(done: str, total: str, postfix: str) -> Told | None:
    """Of so many epochs that are done, the next one runs."""
    ended, epochs = numbers.whole(done), numbers.whole(total)
    if ended is None or not epochs:
        return None
    return Told(
        BAR,
        epoch=min(ended + 1, epochs),
        epochs=epochs,
        done=float(ended),
        of=EPOCH,
        metrics=_metrics(_pairs(postfix)),
        passing=ended < epochs,
    )


def _by_rich(match: re.Match[str]) -> Told:
    step, steps = numbers.whole(match[3]), numbers.whole(match[4])
    return Told(
        LIGHTNING,
        epoch=numbers.whole(match[1]),
        from_zero=True,
        epochs=numbers.whole(match[2]),
        step=step,
        steps=steps,
        of=EPOCH,
        rate=numbers.positive(match[6]),
        metrics=_metrics(_RICH_METRIC.findall(match[7])),
        left=numbers.seconds(match[5]),
        passing=steps is None or step != steps,
    )


def _by_columns(match: re.Match[str]) -> Told:
    step, steps, pace = numbers.whole(match[3]), numbers.whole(match[4]), numbers.positive(match[5])
    rate = 1 / pace if pace and match[6] == "s/it" else pace
    return Told(
        BAR,
        epoch=numbers.whole(match[1]),
        epochs=numbers.whole(match[2]),
        step=step,
        steps=steps,
        of=EPOCH,
        rate=rate,
        left=numbers.real(match[7]) if match[8] else numbers.seconds(match[7]),
        passing=step != steps,
    )


def _pairs(postfix: str) -> list[tuple[str, str]]:
    """``loss=0.3, acc=0.9``, or the same with colons."""
    found = []
    for part in postfix.split(","):
        name, sign, value = part.partition("=")
        if not sign:
            name, sign, value = part.partition(":")
        if sign:
            found.append((name.strip(), value.strip()))
    return found


def _metrics(pairs: list[tuple[str, str]]) -> dict[str, float]:
    return numbers.metrics((name, value) for name, value in pairs if name != _NO_METRIC)
