"""From a command line to the jobs of a study: one ``Planned`` a run, all checked before anything
starts."""

from __future__ import annotations

from dataclasses import replace

from launchers.core import pipeline
from launchers.core.model.problems import LaunchError, Problem, errors
from launchers.core.planning.plan import counted
from launchers.core.planning.script_arguments import CHECKPOINTS, value_of
from launchers.core.provider import Provider
from launchers.core.source.script import JobSource
from launchers.core.spec.job import JobSpec
from launchers.scaling import arguments as script_arguments
from launchers.scaling.arguments import TOTAL
from launchers.scaling.catalogue import RULES
from launchers.scaling.grid import Grid, Point, interleaved
from launchers.scaling.identity import settings_of, study_name
from launchers.scaling.jobs import SIZES, option_with_flag, repeated, sized, with_shares
from launchers.scaling.planned import Planned, StudyPlan, Wanted, variant_text
from launchers.scaling.results import Size
from launchers.scaling.running import usable_cores

# More than this is a mistake in a list.
MOST_RUNS = 500
# The label or tag by which a cloud's bill knows a study.
STUDY_TAG = "scaling-study"


def plan_study(provider: Provider, job: JobSpec, wanted: Wanted, source: JobSource) -> StudyPlan:
    """Every run decided, offline.

    Raises:
        LaunchError: With everything that is wrong with any of the runs.
    """
    seed = script_arguments.seed_argument(wanted.seed_argument, source)
    problems = _problems_in_grid(wanted.grid)
    problems += _problems_in_comparisons(provider, job, wanted, seed[0])
    problems += _problems_in_arguments(job, seed[0], source)
    if problems:
        raise LaunchError(problems)
    settings = settings_of(provider, job, wanted, source)
    name = study_name(job, settings, source)
    base = replace(job, tags={**job.tags, STUDY_TAG: name} if provider.charges_money else job.tags)
    jobs = [(point, sized(provider, base, point, problems)) for point in wanted.grid.points]
    if problems:
        raise LaunchError(problems)
    if wanted.batch == TOTAL:
        jobs = with_shares(provider, jobs, wanted, source)
    runs, found = _prepared(provider, jobs, wanted, source, seed[0])
    if errors(found):
        raise LaunchError(found)
    return StudyPlan(name, settings, wanted, source, tuple(runs), seed, tuple(found))


def again(
    provider: Provider,
    planned: Planned,
    online: bool,
    ignored: tuple[str, ...],
    source: JobSource | None = None,
) -> Planned:
    """The run's job as it would start now: its number in the ledger may be another.

    Args:
        source: As it was read last; None for that of the plan.
    """
    prepared = pipeline.prepare(
        provider,
        planned.prepared.job,
        online=online,
        ignored_sdks=ignored,
        source=source or planned.plan.source,
        fresh=True,
    )
    return replace(planned, prepared=prepared)


def no_sweep(jobs: int) -> Problem:
    """A file with so many jobs is no file of a study."""
    return RULES["scaling-sweep"].at("sweep", counted(jobs, "job"))


def _problems_in_grid(grid: Grid) -> list[Problem]:
    if grid.count > MOST_RUNS:
        found = f"{grid.count} runs"
        return [RULES["scaling-runs"].at("--repeat", found, f"at most {MOST_RUNS}")]
    if grid.count == grid.repeat:
        return [RULES["scaling-nothing"].at("--processes", "one size and nothing to compare")]
    return []


def _problems_in_comparisons(
    provider: Provider, job: JobSpec, wanted: Wanted, seed: str
) -> list[Problem]:
    problems = []
    names = [name for name, _ in wanted.grid.compared]
    for name in dict.fromkeys(names):
        path = f"--compare {name}"
        if names.count(name) > 1:
            problems.append(RULES["scaling-compare"].at(path, "twice", "each name once"))
        if name in SIZES:
            fix = f"write: --{name} 1,2"
            problems.append(RULES["scaling-compare"].at(path, "a size", "--compare NAME=A,B", fix))
        elif name == seed or (name == wanted.batch_argument and wanted.batch == TOTAL):
            found = "the study gives it a value of its own"
            problems.append(RULES["scaling-compare"].at(path, found, "another argument"))
        elif not option_with_flag(provider, name) and script_arguments.has(job.arguments, name):
            found = f"{script_arguments.flag_of(name)} stands behind `--` as well"
            problems.append(RULES["scaling-compare"].at(path, found, "one of the two"))
    if job.checkpoint:
        problems.append(RULES["scaling-checkpoint"].at("--checkpoint", job.checkpoint))
    return problems


def _problems_in_arguments(job: JobSpec, seed: str, source: JobSource) -> list[Problem]:
    problems = []
    if seed and script_arguments.has(job.arguments, seed):
        given = value_of(job.arguments, seed) or ""
        problems.append(RULES["scaling-seed"].at("--", f"--{seed} {given}".strip()))
    folder = value_of(job.arguments, CHECKPOINTS)
    if folder and source.shared:  # of another script nobody knows what it does with it
        problems.append(RULES["scaling-checkpoint"].at("--", f"--{CHECKPOINTS} {folder}"))
    return problems


def _prepared(
    provider: Provider,
    jobs: list[tuple[Point, JobSpec]],
    wanted: Wanted,
    source: JobSource,
    seed: str,
) -> tuple[list[Planned], list[Problem]]:
    """The runs in their order, and all problems, each once."""
    found: dict[Problem, None] = {}
    runs: list[Planned] = []
    known: dict[str, pipeline.Prepared] = {}
    for (point, job), repeat in interleaved(jobs, wanted.grid.repeat):
        one = repeated(provider, job, repeat, seed)
        key = repr((one.arguments, one.tags, one.instances, one.processes, one.gpus, point))
        try:
            if key not in known:
                known[key] = pipeline.prepare(provider, one, source=source, fresh=True)
        except LaunchError as error:
            found.update(dict.fromkeys(error.problems))
            continue
        prepared = known[key]
        found.update(dict.fromkeys(prepared.problems))
        plan = prepared.plan
        runs.append(
            Planned(
                Size(plan.instances, plan.processes, point.gpus, point.variant), repeat, prepared
            )
        )
    if provider.charges_money:
        found.update(dict.fromkeys(_twice(runs)))
    if provider.runs_here:
        found.update(dict.fromkeys(_beyond_cores(runs)))
    return runs, list(found)


def _beyond_cores(runs: list[Planned]) -> list[Problem]:
    """Sizes whose ranks have to take turns on this machine."""
    cores = usable_cores()
    ranks = {run.plan.instances * run.plan.processes for run in runs if not run.plan.gpus}
    beyond = sorted(one for one in ranks if one > cores)
    if not beyond:
        return []
    found = f"{', '.join(map(str, beyond))} ranks on {counted(cores, 'core')}"
    return [RULES["scaling-cores"].at("--processes", found)]


def _twice(runs: list[Planned]) -> list[Problem]:
    """Runs that are written differently may still be the same job, which would be sent once."""
    seen: dict[str, Planned] = {}
    problems = []
    for run in runs:
        before = seen.setdefault(run.plan.name, run)
        if before is not run:
            found = f"{variant_text(run.size)} and {variant_text(before.size)} are the same job"
            problems.append(RULES["scaling-twice"].at("--compare", found))
    return problems
