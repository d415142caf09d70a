"""What an image must hold for the ranks of a strategy, as small programs that its own Python runs.

A program prints ``ANSWER NAME WORDS`` for each part that is there, and may print
``LACKS NAME WHY``; a part without an answer is missing. So nothing of the image is imported on this
side, and a strategy says all of it in its module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """One thing that the image must hold.

    Attributes:
        name: By which a program's answer names it, and ``--json``; unique in its strategy.
        title: The row's words.
        fix: What to add to the image.
    """

    name: str
    title: str
    fix: str


@dataclass(frozen=True)
class ImageNeeds:
    """All of them.

    Attributes:
        packages: Distributions that must be there, by the names of package indexes; a quick look
            before a rehearsal asks for these alone.
        parts: In the order of the table.
        programs: Part -> Python's text, with the syntax of Python 3.8. Each may answer for several
            parts; what it says where it ends badly is told at its own. They run one after another,
            in a container without a network, 3 minutes each at most.
        remark: What is said of an image that gives no answer named ``remark``; it is no fault.
    """

    packages: tuple[str, ...]
    parts: tuple[Part, ...]
    programs: Mapping[str, str]
    remark: str = ""
