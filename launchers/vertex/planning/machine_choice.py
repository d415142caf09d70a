"""Which machine and which GPUs a job gets: by ``--machine`` and ``--accelerator``, by GPU count,
or by all of them where they agree."""

from __future__ import annotations

import re
from dataclasses import dataclass

from launchers.core.model.problems import Problem
from launchers.core.planning import machine_choice as core
from launchers.core.planning.plan import counted
from launchers.core.spec.value_types import Count
from launchers.vertex.catalogue import RULES
from launchers.vertex.options import VertexJob
from launchers.vertex.tables import machines

_COUNT = Count(1, 64)
_TABLE = "launch machines --provider vertex"
# How other tools write a type and a count: 4xT4, T4=4, gcloud's type=nvidia-tesla-t4,count=4.
_SPELLINGS = tuple(
    re.compile(pattern)
    for pattern in (
        r"type=(?P<name>[^,]+)(,count=(?P<count>\d{1,2}))?",
        r"(?P<count>\d{1,2})\s*[xX*:=]?\s*(?P<name>[A-Za-z].*)",
        r"(?P<name>.+?)\s*[xX*:=,]\s*(?P<count>\d{1,2})",
        r"(?P<name>[^:]+)(:.*)?",
    )
)


@dataclass(frozen=True)
class MachineChoice(core.MachineChoice[machines.Machine]):
    """The machine with its GPUs.

    Attributes:
        accelerator: Their type, ``NVIDIA_L4``; empty on a machine without.
    """

    accelerator: str = ""

    @property
    def gpu_model(self) -> str:
        """``L4``; empty without GPUs, and for a type that no table knows."""
        known = machines.accelerators().get(self.accelerator)
        return known.gpu_model if known else ""


@dataclass(frozen=True)
class _Asked:
    """``--accelerator`` as it was read, else its nearest match; count 0 where it says none."""

    name: str
    count: int
    problems: tuple[Problem, ...] = ()

    @property
    def is_usable(self) -> bool:
        """Whether a machine can be looked for."""
        known = machines.accelerators().get(self.name)
        return bool(self.count) and known is not None and _usable(known)


def choose_machine(job: VertexJob) -> MachineChoice:
    """``--machine`` and ``--accelerator``, checked against ``--gpus``; else the default for that
    many GPUs."""
    asked = _asked(job) if job.options.accelerator else None
    if job.machine is not None:
        return _named(job, job.machine, asked)
    if asked is not None:
        return _by_accelerator(asked)
    if job.gpus is None:
        return MachineChoice("", 0, "", problems=(core.nothing_asked(),))
    found = machines.default_for(job.gpus)
    if found is None:
        return MachineChoice("", job.gpus, "", problems=(_no_default(job.gpus),))
    origin = core.default_origin(job, machines.default_reason(job.gpus))
    return MachineChoice(found.name, found.gpus, origin, found, accelerator=found.accelerator)


def _asked(job: VertexJob) -> _Asked:
    """TYPE:N, or TYPE alone where ``--gpus`` says how many."""
    text = str(job.options.accelerator)
    name, colon, number = text.partition(":")
    if name not in machines.accelerators():
        return _misspelt(job, text)
    count = job.gpus or 0
    problems: list[Problem] = []
    if colon:
        try:
            count = _COUNT.parse(number)
        except ValueError:
            problems.append(_problem(text, "TYPE:N", f"such as {name}:{count or 4}"))
            count = 0
    elif not count:
        problems.append(_problem(name, "TYPE:N", f"say how many: --accelerator {name}:4"))
    if count and job.gpus is not None and count != job.gpus:
        problems.append(_disagree(name, count, job.gpus))
    return _Asked(name, count, (*_unusable(name, count), *problems))


def _misspelt(job: VertexJob, text: str) -> _Asked:
    """A type that the service does not name so, with its nearest match."""
    name, count = _nearest(text)
    count = count or job.gpus or 0
    if not name:
        usable = [found.name for found in machines.accelerators().values() if _usable(found)]
        expected = "TYPE:N, the type one of " + ", ".join(usable)
        return _Asked(text, count, (_problem(text, expected, ""),))
    if problems := _unusable(name, count):
        return _Asked(name, count, tuple(problems))
    fix = f"did you mean {name}:{count or 'N'}?"
    problems = [_problem(text, "TYPE:N with a type of the API", fix)]
    if count and job.gpus is not None and count != job.gpus:
        problems.append(_disagree(name, count, job.gpus))
    return _Asked(name, count, tuple(problems))


def _nearest(text: str) -> tuple[str, int]:
    """The nearest type, and the count; empty and 0 where nothing is near."""
    for pattern in _SPELLINGS:
        match = pattern.fullmatch(text.strip())
        name = machines.nearest_accelerator(match["name"]) if match else ""
        if match and name:
            return name, int(match.groupdict().get("count") or 0)
    return "", 0


def _disagree(name: str, count: int, gpus: int) -> Problem:
    found = f"{name}:{count} together with --gpus {gpus}"
    other = f"--accelerator {name}:{gpus}" if gpus else "no --accelerator"
    return _problem(found, "the two to agree", f"--gpus {count}, or {other}")


def _unusable(name: str, count: int) -> list[Problem]:
    """Why no job can have accelerators of that name; empty where it can."""
    known = machines.accelerators()[name]
    if not known.is_gpu:
        return [_problem(name, "an NVIDIA GPU", "Horovod cannot use a TPU")]
    if known.ended:
        found = f"{name}, which the service has had none of since {known.ended}"
        possible = count in machines.counts_of(known.instead)
        fix = f"--accelerator {known.instead}:{count}" if possible else _possible(known.instead)
        return [_problem(found, "an accelerator that Vertex AI still offers", fix)]
    return []


def _usable(accelerator: machines.Accelerator) -> bool:
    return accelerator.is_gpu and not accelerator.ended


def _by_accelerator(asked: _Asked) -> MachineChoice:
    """The machine of which the GPUs are a part, or beside which they stand, where none is named."""
    found = machines.default_having(asked.name, asked.count) if asked.is_usable else None
    problems = asked.problems
    if found is None:
        if asked.is_usable:
            have = _possible(asked.name)
            expected = "a count that a machine has or takes"
            problems += (_problem(f"{asked.name}:{asked.count}", expected, have),)
        return MachineChoice("", asked.count, "", None, problems, asked.name)
    origin = f"--accelerator, default for {asked.name}:{asked.count}"
    return MachineChoice(found.name, asked.count, origin, found, problems, asked.name)


def _no_default(gpus: int) -> Problem:
    have = [entry.name for entry in machines.with_gpus(gpus)]
    return core.no_default(gpus, have, machines.gpu_counts())


def _named(job: VertexJob, name: str, asked: _Asked | None) -> MachineChoice:
    problems = list(asked.problems) if asked else []
    found = machines.machine(name)
    if found is None:
        is_tpu = name.startswith(("cloud-tpu", "ct"))
        hint = "Horovod cannot use a TPU" if is_tpu else machines.suggestion(name)
        what = f"a training machine type (see `{_TABLE}`)"
        problems.append(core.unknown_machine(name, what, hint))
        return MachineChoice(name, job.gpus or 0, "--machine", problems=tuple(problems))
    if found.accelerator:
        return _with_own_gpus(job, found, asked, problems)
    if asked is not None:
        return _with_gpus_beside(found, asked, problems)
    if job.gpus:
        problems.append(_gpus_unnamed(found, job.gpus))
    return MachineChoice(found.name, job.gpus or 0, "--machine", found, tuple(problems))


def _with_own_gpus(
    job: VertexJob, found: machines.Machine, asked: _Asked | None, problems: list[Problem]
) -> MachineChoice:
    """A machine of which the GPUs are a part; ``--accelerator`` may only say the same again."""
    if job.gpus is not None and job.gpus != found.gpus:
        have = [*(entry.name for entry in machines.with_gpus(job.gpus)), *_beside_texts(job.gpus)]
        problems.append(core.counts_disagree(found.name, found.gpus, job.gpus, have))
    elif asked and asked.is_usable and not found.takes(asked.name, asked.count):
        problems.append(_impossible(found, asked))
    return MachineChoice(
        found.name, found.gpus, "--machine", found, tuple(problems), found.accelerator
    )


def _with_gpus_beside(
    found: machines.Machine, asked: _Asked, problems: list[Problem]
) -> MachineChoice:
    if asked.is_usable and not found.takes(asked.name, asked.count):
        problems.append(_impossible(found, asked))
    origin = "--machine, --accelerator"
    return MachineChoice(
        found.name, asked.count, origin, found, tuple(problems), accelerator=asked.name
    )


def _impossible(found: machines.Machine, asked: _Asked) -> Problem:
    """A pair that the service does not have, with those that it has."""
    if found.accelerator:
        expected = f"{found.accelerator}:{found.gpus}, which is part of it, or no --accelerator"
    elif found.attached:
        expected = f"one that it takes: {found.attached_text}"
    else:
        expected = "a machine that takes accelerators (n1), or one with built-in GPUs"
    return RULES["accelerator-machine"].at(
        "--accelerator",
        f"{asked.name}:{asked.count} on {found.name}",
        expected,
        _possible(asked.name, asked.count),
    )


def _possible(name: str, count: int = 0) -> str:
    """Which machines have or take so many of an accelerator; which counts there are, where none
    does."""
    have = machines.taking(name, count) if count else []
    usual = machines.default_having(name, count)
    if usual and usual.attached:
        return f"{name}:{count} goes with --machine {usual.name}, among others"
    if have:
        return f"machines with {name}:{count}: {', '.join(entry.name for entry in have)}"
    counts = sorted(machines.counts_of(name))
    return f"there is {name} by {', '.join(map(str, counts))}" if counts else ""


def _gpus_unnamed(found: machines.Machine, gpus: int) -> Problem:
    """``--gpus`` on a machine without any of its own."""
    takes = [name for name, counts in found.attached.items() if gpus in counts]
    if takes:
        return RULES["accelerator-machine"].at(
            "--accelerator",
            f"none; {found.name} has no GPU of its own",
            f"the type of the {counted(gpus, 'GPU')} beside it",
            "one of " + ", ".join(f"--accelerator {name}:{gpus}" for name in takes),
        )
    have = [*(entry.name for entry in machines.with_gpus(gpus)), *_beside_texts(gpus)]
    return core.counts_disagree(found.name, 0, gpus, have)


def _beside_texts(gpus: int) -> list[str]:
    """``n1-standard-16 with NVIDIA_TESLA_T4:4``: one machine for each accelerator."""
    names = dict.fromkeys(name for _, name in machines.attachable_with(gpus))
    found = [(machines.default_having(name, gpus), name) for name in names]
    return [f"{entry.name} with {name}:{gpus}" for entry, name in found if entry]


def _problem(found: str, expected: str, fix: str) -> Problem:
    return RULES["accelerator-text"].at("--accelerator", found, expected, fix)
