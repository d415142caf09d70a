"""What the document of a job with wrong flags breaks besides, so that all mistakes are told at once
and none twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from launchers.core.problems import Problem, errors
from launchers.vertex import rules

# Of the pools with ranks; a reservation's name and the reduction servers have flags of their own.
_HARDWARE = (
    r"Specs\[[01]\]\.(machineSpec(?!\.reservationAffinity\.values)|diskSpec)"
    r"|\.env\.LAUNCH_|scheduling\.strategy"
)
_PLACES = r"baseOutputDirectory|\.env\.LAUNCH_"
# The rule that a flag breaks, and the places of the document that follow from that flag.
_FOLLOWS = {
    "gpus-missing": _HARDWARE,
    "machine-gpus": _HARDWARE,
    "machine-unknown": _HARDWARE,
    "accelerator": _HARDWARE,
    "accelerator-machine": _HARDWARE,
    "ranks-above-gpus": r"\.env\.LAUNCH_",
    "boot-disk": r"diskSpec",
    "image": r"imageUri",
    "bucket": _PLACES,
    "place": _PLACES,
    "strategy": r"scheduling",
    "max-wait": r"scheduling\.maxWait",
    "network": r"\.network|pscInterfaceConfig|reservedIpRanges",
}
# The plan checks the arguments themselves, and code and hash are ours.
_NEVER = r"containerSpec\.(args|command)"


def later_problems(
    broken: Iterable[Problem],
    document: Mapping[str, Any],
    location: str,
    allowed_values: frozenset[str],
) -> list[Problem]:
    """The errors of ``document`` that none of ``broken`` brought about. Pure.

    Args:
        broken: What is wrong with the flags of which the document was rendered.
        location: Where the job is to be sent.
        allowed_values: Names of ``--allow-value``.
    """
    told = list(broken)
    patterns = [_NEVER, *(_FOLLOWS[one.rule] for one in told if one.rule in _FOLLOWS)]
    # `--env NAME` and `--secret NAME`.
    names = {one.path.split()[1] for one in told if re.match(r"--(env|secret) \w", one.path)}
    patterns += [rf"\.env\.{re.escape(name)}$" for name in names]
    found = errors(rules.check(document, allowed_values=allowed_values))
    if not any(one.rule == "location" for one in told):
        found += rules.check_location(document, location)
    return [one for one in found if not any(re.search(text, one.path) for text in patterns)]
