"""One notice to every target; what fails is a warning, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem, Severity
from launchers.core.notify import program, webhook
from launchers.core.notify.notice import Notice, sample
from launchers.core.spec.targets import COMMAND, WEBHOOK, Target


def send(target: Target, notice: Notice) -> Problem | None:
    """Tell one target; None where it was told. May block for half a minute."""
    if target.kind == WEBHOOK:
        found = webhook.post(target, notice)
    else:
        found = _fault_of_program(target) or program.run(_words(target, notice), notice)
    return RULES["notify-failed"].at(target.shown, found) if found else None


def faults(targets: Sequence[Target], origin: str, severity: Severity) -> list[Problem]:
    """What is known at the start to fail at the end: a variable that is not set, a program that is
    not there."""
    found = []
    for target in targets:
        why = webhook.fault_of(target) if target.kind == WEBHOOK else _fault_of_program(target)
        if why:
            place = f"{origin} {target.shown}"
            found.append(RULES["notify-target"].at(place, why, severity=severity))
    return found


def _words(target: Target, notice: Notice) -> list[str]:
    if target.kind == COMMAND:
        return program.words_of(target.value)
    return program.desktop_words(notice)


def _fault_of_program(target: Target) -> str:
    try:
        return program.missing(_words(target, sample()))
    except ValueError:
        return "a quote without its end"
