"""One job, and many: `status`, `wait`, `cancel`, `list`, `logs` and the verbs of the providers."""

from __future__ import annotations

from typing import Annotated, TypedDict

from launchers.cli.answers.problems import ProblemAnswer
from launchers.cli.answers.shape import OneOf, Time
from launchers.core.model.jobs import FINAL_STATES, PENDING, RUNNING, STOPPING
from launchers.core.records.entry import INTENT

STATES = (INTENT, PENDING, RUNNING, STOPPING, *sorted(FINAL_STATES))
State = Annotated[str, OneOf(STATES)]


class FailureOfRank(TypedDict, total=False):
    """The first failure in the job's output."""

    rank: Annotated[int | None, "The global rank; null where a whole host is meant."]
    host: str
    exit_code: Annotated[int | None, "128 and its number for a signal."]
    signal: Annotated[str | None, "The signal that ended the rank."]
    phase: Annotated[str | None, "`joining`, `starting`, `training` or `ending`."]
    reason: str
    fix: Annotated[str, "What to change, where that is known."]


class TrainingAnswer(TypedDict):
    """How far a training is, by its first rank's newest lines; null for what they don't say."""

    epoch: Annotated[int | None, "The one that runs or has just ended, from 1."]
    epochs: Annotated[int | None, "Of the whole training."]
    step: Annotated[int | None, "What is done of `steps`."]
    steps: int | None
    counted: Annotated[str, "What `step` counts.", OneOf(("steps", "samples"))]
    of: Annotated[str, "What `steps` are all of; empty where nothing says."]
    rate: Annotated[float | None, "`unit` a second, as the script says it."]
    unit: Annotated[str, OneOf(("images", "samples", "steps"))]
    metrics: Annotated[
        dict[str, float | str], "The last of each name; `nan`, `inf` and `-inf` are texts."
    ]
    seconds: Annotated[float | None, "Of training so far, as the script says it."]
    left_seconds: Annotated[
        float | None, "To the training's end, by its pace; null where its length is not known."
    ]
    epoch_left_seconds: Annotated[float | None, "Until all `steps` are done."]
    at: Annotated[Time | None, "When the newest of these lines was printed."]


class _JobDetails(TypedDict, total=False):
    doing: Annotated[str, "What a job that has not ended is doing, in the service's words."]
    fix: Annotated[str, "What to change, where that is known."]
    failure: Annotated[FailureOfRank | None, "What failed first; null where nothing did."]
    result: Annotated[str, "The script's last `result:` line."]
    progress: Annotated[
        TrainingAnswer, "How far the training is, where its lines tell. Of `launch status`."
    ]
    progress_unreadable: Annotated[str, "Why the newest lines could not be read."]
    folder: Annotated[str, "Where a job of this machine keeps everything."]
    model: Annotated[str, "Where the model was stored."]
    exit_codes: Annotated[dict[str, int | None], "Of each host's agent, by the host's name."]
    region: Annotated[str, "Where it runs."]
    project: Annotated[str, "The Google Cloud project."]
    resource: Annotated[str, "Its name at Vertex AI."]
    console: Annotated[str, "A link to it in the provider's console."]
    billable_seconds: Annotated[int | None, "What SageMaker charges for."]
    unreadable: Annotated[str, "Why its log cannot be read, so that the proof is not known."]
    ignored_sdks: Annotated[list[str], "Packages of `--ignore-sdk`."]


class JobAnswer(_JobDetails):
    """A job, where it stands. What its provider does not know of it is left out."""

    name: Annotated[str, "The job's whole name."]
    provider: str
    state: State
    reason: Annotated[str, "One line; empty while all is well."]
    proof: Annotated[str, "The proof line that was seen in its output; empty before."]
    world_size: Annotated[int | None, "Ranks of the whole job; null where nothing says."]
    created: Annotated[Time | None, "When it was made."]
    started: Annotated[Time | None, "When its ranks were started; null where nobody says."]
    ended: Annotated[Time | None, "Null while it has not, and where nobody says."]


class ListedJob(TypedDict):
    """A row of `launch list`."""

    name: str
    provider: str
    state: Annotated[str, "As in `launch status`; another word in a damaged row."]
    reason: Annotated[str, "Also why the provider could not be asked."]
    proof: str
    world_size: int
    created: Time | None
    ended: Time | None


class LineAnswer(TypedDict):
    """A line of the job's output."""

    time: Annotated[Time | None, "When it was printed; null where the provider does not say."]
    host: Annotated[str, "The host's name; empty for a line of the job as a whole."]
    rank: Annotated[int | None, "The global rank; null for a line of an agent or a container."]
    text: Annotated[str, "The line without its end."]


class SweepJob(TypedDict):
    """One job of a sweep."""

    name: str
    provider: str
    state: Annotated[
        str,
        "As in `launch status`, or `waiting`, `submitting`, `in doubt` (it may have been sent), "
        "`not started`, `unknown`.",
    ]
    text: Annotated[str, "The proof or the reason."]
    world_size: int
    arguments: Annotated[list[str], "The script's."]
    problems: Annotated[list[ProblemAnswer], "Why it was not started, or could not be followed."]


ListAnswer = list[ListedJob]
RunAnswer = JobAnswer | list[SweepJob]
