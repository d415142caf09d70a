"""The dictionaries that the Trainer of Hugging Face prints; its bar is tqdm's::

    {'loss': 0.512, 'grad_norm': 1.25, 'learning_rate': 4e-05, 'epoch': 0.5}
    {'eval_loss': 0.498, 'eval_runtime': 1.2, 'eval_samples_per_second': 83.0, 'epoch': 1.0}
    {'train_runtime': 12.3, 'train_samples_per_second': 24.4, 'train_loss': 0.51, 'epoch': 3.0}

Newer ones (transformers 5) write the values as texts.
"""

from __future__ import annotations

import math
import re

from launchers.core.output.training_progress import numbers
from launchers.core.output.training_progress.told import SAMPLES, STEPS, TRAINER, Told

_PAIR = re.compile(r"""['"]([\w./@ -]{1,60})['"]: ?['"]?([^'",}]{1,40})['"]?(?=[,}])""")
# Not metrics of the model: how long something took, and what it cost.
_MEASURES = re.compile(r"(?:train|eval)_(?:runtime|.*_per_second)|total_flos|step|.*tokens_seen")


def parse(text: str) -> Told | None:
    """What such a dictionary says; None for any other line."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    pairs = _PAIR.findall(text)
    found = dict(pairs)
    done = numbers.real(found.get("epoch"))
    if done is None or not math.isfinite(done) or not 0 <= done < 1e9:
        return None
    rate, unit = numbers.positive(found.get("train_samples_per_second")), SAMPLES
    if rate is None:
        rate, unit = numbers.positive(found.get("train_steps_per_second")), STEPS
    return Told(
        TRAINER,
        epoch=max(1, math.ceil(done)),
        done=done,
        rate=rate,
        unit=unit,
        metrics=numbers.metrics(
            (name, value)
            for name, value in pairs
            if name != "epoch" and not _MEASURES.fullmatch(name)
        ),
        seconds=numbers.positive(found.get("train_runtime")),
    )
