"""Which machine and which GPUs a job gets: by ``--machine`` and ``--accelerator``, by GPU count,
or by all of them where they agree."""

from __future__ import annotations

from dataclasses import dataclass

from launchers.core import machine_choice as core
from launchers.core.job import JobSpec
from launchers.core.kinds import Count
from launchers.core.plan import counted
from launchers.core.problems import Problem
from launchers.vertex import machines

_COUNT = Count(1, 64)
_TABLE = "launch machines --provider vertex"
# The one that Vertex AI's own examples have their GPUs beside.
_USUAL = "n1-standard-16"


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
    """``--accelerator`` as it was read; count 0 where it says none."""

    name: str
    count: int
    problems: tuple[Problem, ...] = ()


def choose_machine(job: JobSpec) -> MachineChoice:
    """``--machine`` and ``--accelerator``, checked against ``--gpus``; else the default for that
    many GPUs."""
    asked = _asked(job) if job.options.accelerator else None
    if job.machine is not None:
        return _named(job, job.machine, asked)
    if asked is not None:
        problems = (*asked.problems, *([] if asked.problems else [_no_machine(asked)]))
        return MachineChoice("", asked.count, "", problems=problems, accelerator=asked.name)
    if job.gpus is None:
        return MachineChoice("", 0, "", problems=(core.nothing_asked(),))
    found = machines.default_for(job.gpus)
    if found is None:
        return MachineChoice("", job.gpus, "", problems=(_no_default(job.gpus),))
    origin = core.default_origin(job.gpus, machines.default_reason(job.gpus))
    return MachineChoice(found.name, found.gpus, origin, found, accelerator=found.accelerator)


def _asked(job: JobSpec) -> _Asked:
    """TYPE:N, or TYPE alone where ``--gpus`` says how many."""
    name, colon, text = str(job.options.accelerator).partition(":")
    problems = []
    count = job.gpus or 0
    if colon:
        try:
            count = _COUNT.parse(text)
        except ValueError:
            problems.append(_problem(f"{name}:{text}", "TYPE:N", "such as NVIDIA_TESLA_T4:4"))
    problems += _unusable(name)
    if not count and not problems:
        problems.append(_problem(name, "TYPE:N", f"say how many: --accelerator {name}:4"))
    if colon and not problems and job.gpus is not None and count != job.gpus:
        problems.append(
            _problem(f"{name}:{count} together with --gpus {job.gpus}", "the two to agree", "")
        )
    return _Asked(name, count, tuple(problems))


def _unusable(name: str) -> list[Problem]:
    """Why no job can have accelerators of that name; empty where it can."""
    known = machines.accelerators().get(name)
    if known is None:
        usable = [found.name for found in machines.accelerators().values() if _usable(found)]
        return [
            _problem(
                name or "no type",
                "one of " + ", ".join(usable),
                machines.accelerator_suggestion(name),
            )
        ]
    if not known.is_gpu:
        return [_problem(name, "an NVIDIA GPU", "Horovod cannot use a TPU")]
    if known.ended:
        return [
            _problem(
                f"{name}, which the service has had none of since {known.ended}",
                "an accelerator that it has",
                f"--accelerator {known.instead}:N",
            )
        ]
    return []


def _usable(accelerator: machines.Accelerator) -> bool:
    return accelerator.is_gpu and not accelerator.ended


def _no_machine(asked: _Asked) -> Problem:
    """``--accelerator`` alone: it is part of its machines, or stands beside one of several."""
    found = machines.taking(asked.name, asked.count)
    if found and found[0].attached:
        fix = f"--machine {_usual(found)}, or another of `{_TABLE} --gpus {asked.count}`"
    elif found:
        fix = f"leave it out and say --machine {found[0].name}, of which the GPUs are a part"
    else:
        fix = f"no machine has {asked.count} of them; {_possible(asked.name)}"
    return Problem(
        "--accelerator",
        f"{asked.name}:{asked.count} without --machine",
        "the machine that it stands beside",
        fix,
        rule="accelerator-machine",
    )


def _no_default(gpus: int) -> Problem:
    have = [entry.name for entry in machines.with_gpus(gpus)]
    return core.no_default(gpus, have, machines.gpu_counts())


def _named(job: JobSpec, name: str, asked: _Asked | None) -> MachineChoice:
    problems = list(asked.problems) if asked else []
    found = machines.machine(name)
    if found is None:
        hint = machines.suggestion(name)
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
    job: JobSpec, found: machines.Machine, asked: _Asked | None, problems: list[Problem]
) -> MachineChoice:
    """A machine of which the GPUs are a part; ``--accelerator`` may only say the same again."""
    if job.gpus is not None and job.gpus != found.gpus:
        have = [*(entry.name for entry in machines.with_gpus(job.gpus)), *_beside_texts(job.gpus)]
        problems.append(core.counts_disagree(found.name, found.gpus, job.gpus, have))
    elif asked and not asked.problems and not found.takes(asked.name, asked.count):
        problems.append(_impossible(found, asked))
    return MachineChoice(
        found.name, found.gpus, "--machine", found, tuple(problems), found.accelerator
    )


def _with_gpus_beside(
    found: machines.Machine, asked: _Asked, problems: list[Problem]
) -> MachineChoice:
    if not asked.problems and not found.takes(asked.name, asked.count):
        problems.append(_impossible(found, asked))
    origin = "--machine and --accelerator"
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
        expected = "a machine that takes accelerators (n1), or one of which they are a part"
    return Problem(
        "--accelerator",
        f"{asked.name}:{asked.count} on {found.name}",
        expected,
        _possible(asked.name, asked.count),
        rule="accelerator-machine",
    )


def _possible(name: str, count: int = 0) -> str:
    """Which machines have or take so many of an accelerator; which counts there are, where none
    does."""
    have = machines.taking(name, count) if count else []
    if have and have[0].attached:
        return f"{name}:{count} stands beside --machine {_usual(have)}, among others"
    if have:
        return f"machines with {name}:{count}: {', '.join(entry.name for entry in have)}"
    counts = sorted(machines.counts_of(name))
    return f"there is {name} by {', '.join(map(str, counts))}" if counts else ""


def _gpus_unnamed(found: machines.Machine, gpus: int) -> Problem:
    """``--gpus`` on a machine without any of its own."""
    takes = [name for name, counts in found.attached.items() if gpus in counts]
    if takes:
        return Problem(
            "--accelerator",
            f"none; {found.name} has no GPU of its own",
            f"the type of the {counted(gpus, 'GPU')} beside it",
            "one of " + ", ".join(f"--accelerator {name}:{gpus}" for name in takes),
            rule="accelerator-machine",
        )
    have = [*(entry.name for entry in machines.with_gpus(gpus)), *_beside_texts(gpus)]
    return core.counts_disagree(found.name, 0, gpus, have)


def _beside_texts(gpus: int) -> list[str]:
    """``n1-standard-16 with NVIDIA_TESLA_T4:4``: one machine for each accelerator."""
    beside: dict[str, list[machines.Machine]] = {}
    for entry, name in machines.attachable_with(gpus):
        beside.setdefault(name, []).append(entry)
    return [f"{_usual(found)} with {name}:{gpus}" for name, found in beside.items()]


def _usual(found: list[machines.Machine]) -> str:
    names = [entry.name for entry in found]
    return _USUAL if _USUAL in names else names[0]


def _problem(found: str, expected: str, fix: str) -> Problem:
    return Problem("--accelerator", found, expected, fix, rule="accelerator")
