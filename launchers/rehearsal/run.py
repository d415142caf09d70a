"""A rehearsal from its document to its result: the one entry for every command."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from launchers.core.analysis.facts import SourceFacts
from launchers.core.model.jobs import JobDefinition
from launchers.core.model.problems import (
    EXIT_BAD_REQUEST,
    EXIT_JOB_DID_NOT_SUCCEED,
    EXIT_PREFLIGHT,
    LaunchError,
)
from launchers.core.paths import unwritable
from launchers.core.records.ledger import data_folder
from launchers.core.roles import Contract
from launchers.core.source.bundle import SourceBundle
from launchers.core.strategies import named
from launchers.docker.engine import connected
from launchers.rehearsal.course.course import Audience, Course
from launchers.rehearsal.course.outcome import RehearsalResult
from launchers.rehearsal.course.uninterrupted import uninterrupted
from launchers.rehearsal.engine import leftovers
from launchers.rehearsal.engine.labels import Labels
from launchers.rehearsal.engine.lifeline import Lifeline
from launchers.rehearsal.engine.workplace import Workplace, outcome_folder
from launchers.rehearsal.options import RehearsalOptions
from launchers.rehearsal.staging.fitting import refuse_unfit
from launchers.rehearsal.staging.stage import Stage, stage

_ELSEWHERE = "free space there, or set LAUNCH_HOME and TMPDIR to folders of another disk"


def rehearse(
    contract: Contract,
    definition: JobDefinition,
    bundle: SourceBundle | None,
    options: RehearsalOptions,
    audience: Audience,
    facts: SourceFacts | None = None,
) -> RehearsalResult:
    """Run the document in containers on this machine and judge its end. Blocks until then.

    Nothing of it is left afterwards but the outcome's folder, also after KeyboardInterrupt. Two
    rehearsals may run at once.

    Args:
        definition: Its text is what runs: it is parsed anew here.
        bundle: The job's code; None for a document from elsewhere, whose code
            ``options.source`` names.
        facts: About the script that the ranks run, where it is known: it is read before they start.

    Raises:
        LaunchError: It cannot start: no engine, no image, no source, a flag that is wrong. Its
            files cannot be written, or the engine refuses; once a container was started, that is
            exit code 1.
        KeyboardInterrupt: Asked to stop; everything was removed.
    """
    began = time.monotonic()
    definition = replace(definition, document=json.loads(definition.text))
    place, play = data_folder(), None
    try:
        with connected() as client:
            for old in leftovers.clean_left_over(client):
                audience.note(f"removed what an earlier rehearsal had left: {old.labels.job}")
            labels = Labels.new(definition.name)
            workplace = Workplace(labels)
            with _removed_afterwards(client, labels, workplace, audience):
                workplace.make()
                place = workplace.folder
                prepared = stage(contract, definition, bundle, options, client, workplace, audience)
                try:
                    _refuse_unfit(client, prepared, definition, facts)
                except LaunchError as error:
                    if not options.despite_problems:
                        raise
                    audience.note(str(error))
                audience.plan(prepared, labels)
                place = outcome_folder(labels)
                play = Course(
                    client,
                    labels,
                    prepared,
                    definition,
                    place,
                    audience,
                    options.interrupt_after,
                )
                result = play.run()
    except LaunchError as error:
        if play is not None and play.began and error.exit_code == EXIT_PREFLIGHT:
            raise LaunchError(error.problems, EXIT_JOB_DID_NOT_SUCCEED) from None
        raise
    except OSError as error:
        began_ranks = play is not None and play.began
        code = EXIT_JOB_DID_NOT_SUCCEED if began_ranks else EXIT_BAD_REQUEST
        raise LaunchError(unwritable(error.filename or place, error, _ELSEWHERE), code) from None
    seconds = {"total": time.monotonic() - began, **result.seconds}
    return replace(result, seconds=seconds)


def _refuse_unfit(
    client: Any, prepared: Stage, definition: JobDefinition, facts: SourceFacts | None
) -> None:
    needs, strategy = prepared.conduct.image_needs, named(definition.strategy)
    if needs is None:
        return
    ranks = prepared.expected.world_size > 1 or bool(definition.strategy)
    if ranks:
        needs = ("python", strategy.name, *needs)
    recipe, provider = prepared.conduct.recipe, definition.provider
    refuse_unfit(client, prepared.containers, needs, provider, strategy, facts, recipe)


@contextmanager
def _removed_afterwards(
    client: Any, labels: Labels, workplace: Workplace, audience: Audience
) -> Iterator[None]:
    """Containers, networks and temporary files go with the block, however it ends, also where this
    process is killed."""
    lifeline = Lifeline(labels)
    try:
        yield
    finally:
        with uninterrupted(lambda: audience.note("removing the containers; a moment")):
            left = leftovers.remove_all(client, labels)
            workplace.remove()
            lifeline.cut()
        for text in left:
            audience.note(f"left behind: {text}; `launch rehearsals --clean` removes it")
