"""What the document of a job with wrong flags breaks besides, so that all mistakes are told at once
and none twice."""

from __future__ import annotations

import re
from collections.abc import Iterable

from launchers.core.model.problems import Problem, errors
from launchers.core.planning.plan import Plan
from launchers.core.provider import Provider

_NAMED_FLAG = re.compile(r"--(env|secret) (\w+)")


def later_problems(provider: Provider, plan: Plan, told: Iterable[Problem]) -> list[Problem]:
    """The errors of the document that ``plan`` would make, but for those that follow from what is
    told already. Pure.

    Args:
        told: What is wrong with the flags; ``Definer.knock_on_errors`` says what follows from it.
    """
    definer, follows = provider.definer, provider.definer.knock_on_errors
    if not follows:
        return []
    told = list(told)
    patterns = [follows[rule] for rule in {one.rule for one in told} & {*follows}]
    named = (_NAMED_FLAG.match(one.path) for one in told)
    patterns += [rf"\.(env|Environment)\.{match[2]}$" for match in named if match]
    found = errors(definer.check(definer.render(plan)))
    return [one for one in found if not any(re.search(text, one.path) for text in patterns)]
