"""Whether a line may say something of a training; asked of every line of every job."""

from __future__ import annotations

import re

# A bar that was written over a thousand times is one line: its last state stands at the end.
LONGEST = 4096
# One of these stands in every form.
_HINT = re.compile(
    r"progress: |poch|%\||% [━─]|/step|ETA:|Te?(?:st|rain)(?: set| \(EMA\))?: |"
    r"Iter(?:\((?:train|val)\))? {0,8}\[|total_loss: "
)


def may_tell(text: str) -> bool:
    """False for nearly all lines that say nothing of a training; quick for a line of any length."""
    return _HINT.search(text[-LONGEST:]) is not None
