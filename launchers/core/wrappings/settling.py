"""What is true of a spec in which some values are not known here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from launchers.core.credentials.search import looks_like_credential
from launchers.core.model.jobs import Examined
from launchers.core.model.problems import Problem
from launchers.core.model.unknown import Unknown, unknowns_in
from launchers.core.wrappings.places import Steps, steps_of
from launchers.core.wrappings.spec import Spec

Unknowns = Mapping[Steps, Unknown]


def settled(
    spec: Spec, found: Examined, depends_on: Mapping[str, Sequence[str]], size: str
) -> Examined:
    """What was found in a spec, without what depends on a value that is not known here, and with
    the places as they are in what was read.

    Args:
        depends_on: See :class:`launchers.core.roles.Reader`.
        size: The key in it for what the world size follows from.
    """
    unknowns = dict(unknowns_in(spec.document))
    problems = tuple(
        _placed(one, spec)
        for one in found.problems
        if one.rule not in spec.moot and not _open(one, unknowns, depends_on)
    )
    started, because = found.started, spec.places.in_text(found.because)
    why = open_size(spec, depends_on.get(size, ()))
    if why:
        started, because = None, why
    return replace(found, problems=problems, started=started, because=because)


def open_size(spec: Spec, places: Sequence[str]) -> str:
    """Why nobody can tell here what a spec starts; empty where no unknown stands in the way.

    Args:
        places: What the world size follows from.
    """
    unknowns = dict(unknowns_in(spec.document))
    at = _reached(unknowns, places)
    if at is None:
        return ""
    text = unknowns[at].text
    # A text that is put together may hold one beside what is not known.
    shown = "an expression" if looks_like_credential("", text) else text
    return f"{spec.places.of_steps(at)} is {shown}, which is not known here"


def _open(problem: Problem, unknowns: Unknowns, depends_on: Mapping[str, Sequence[str]]) -> bool:
    """Whether another value of an unknown could make the problem go away."""
    if not unknowns:
        return False
    steps, _ = steps_of(problem.path)
    if problem.path.startswith("$") and any(steps[: len(at)] == at for at in unknowns):
        return True
    return _reached(unknowns, depends_on.get(problem.rule, ())) is not None


def _reached(unknowns: Unknowns, places: Iterable[str]) -> Steps | None:
    """The first unknown that stands at one of ``places``, above it, or below one that ends in
    ``.**``."""
    wanted = [
        (_steps(one.removesuffix(_BELOW).replace("[*]", "[0]")), one.endswith(_BELOW))
        for one in places
    ]
    for at in unknowns:
        # Any index, any spelling of a key: the clients' own differ from the services'.
        steps = tuple(0 if isinstance(step, int) else _folded(step) for step in at)
        for place, below in wanted:
            if place[: len(steps)] == steps or (below and steps[: len(place)] == place):
                return at
    return None


_BELOW = ".**"


def _steps(place: str) -> Steps:
    return tuple(step if isinstance(step, int) else _folded(step) for step in steps_of(place)[0])


def _folded(key: object) -> str:
    return str(key).replace("_", "").lower()


def _placed(problem: Problem, spec: Spec) -> Problem:
    places = spec.places
    return replace(
        problem,
        path=places.of(problem.path),
        found=places.in_text(problem.found),
        expected=places.in_text(problem.expected),
        fix=_KEYS.sub(lambda match: _styled(match[0], spec), places.in_text(problem.fix)),
    )


# Names of keys in a fix, which the document spells in its own way.
_KEYS = re.compile(r"(?:did you mean |its keys are )[\w, ]+")


def _styled(text: str, spec: Spec) -> str:
    return re.sub(r"\w+", lambda match: spec.places.style(match[0]), text)
