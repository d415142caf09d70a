"""`launch status JOB`."""

from __future__ import annotations

import click

from launchers.cli.completion import values
from launchers.cli.jobs.follow import say_end
from launchers.cli.jobs.lookup import found_job, region_flag
from launchers.cli.jobs.training import Training, now_for, training_of
from launchers.cli.show.as_json import job_as_json
from launchers.cli.show.output import answer, say, tell
from launchers.cli.show.training import training_lines
from launchers.cli.verb import Verb
from launchers.core.model.jobs import JobStatus
from launchers.core.planning.plan import counted
from launchers.core.strategies import named


@click.command(
    "status",
    cls=Verb,
    examples=(
        "launch status train-5c1f9e02",
        "launch status sagemaker:my-job --region eu-west-1",
    ),
    help="Show a job's state, and how far its training is.",
)
@click.argument("job", metavar="JOB", shell_complete=values.jobs)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
@region_flag
def command(job: str, region: str | None, as_json: bool) -> int:
    """Ask the job's provider; 0 when it could answer, whatever the state."""
    chosen, entry = found_job(job, region)
    status = chosen.service.describe(entry.handle)
    training = training_of(chosen, entry.handle, status)
    if as_json:
        told = job_as_json(entry.handle, status, training.progress, now_for(status))
        if training.unreadable:
            told["progress_unreadable"] = training.unreadable
        answer(told)
        return 0
    if status.final:
        tell(f"{status.state}  {entry.name}")
        _tell_training(training, status)
        say_end(chosen, entry.handle, status)
    else:
        proof = status.proof or "not proven yet"
        word = named(status.details.get("strategy", "")).counts
        ranks = counted(status.details.get("world_size") or entry.world_size, word)
        tell(f"{status.state}  {entry.name}  {ranks}, {proof}")
        for text in filter(None, (status.reason, status.details.get("doing"))):
            tell(f"  {text}")
        _tell_training(training, status)
        if status.details.get("console"):
            tell(f"  console  {status.details['console']}")
    return 0


def _tell_training(training: Training, status: JobStatus) -> None:
    if training.progress is not None:
        for text in training_lines(training.progress, now_for(status)):
            tell(f"  {text}")
    if training.unreadable:
        unknown = "its newest lines could not be read, so its progress is not known"
        say(f"  {unknown}: {training.unreadable}")
