"""A study's source while it runs: what changes there is told, or ends the study."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from launchers.cli.show.output import say_problems
from launchers.cli.show.progress import reading_shown
from launchers.core.model.problems import LaunchError
from launchers.core.provider import Provider
from launchers.core.source.script import JobSource, read_source
from launchers.core.spec.job import JobSpec
from launchers.scaling.contents import changed_files, files_problem, source_changes
from launchers.scaling.records import StudyFolder


def before_a_run(chosen: Provider, folder: StudyFolder, job: JobSpec) -> JobSource:
    """The source as it is now, read anew; files of it that have changed are told and kept.

    Raises:
        LaunchError: The script is gone, or its Python files are others than the study's.
    """
    assert folder.record is not None
    source = read_source(job, reading_shown)
    travels = chosen.definer.sends_source
    changed = changed_files(folder.record, source, travels)
    if wrong := source_changes(folder.record, source, changed, travels):
        raise LaunchError(wrong)
    _keep(folder, changed)
    return source


def after_a_run(chosen: Provider, folder: StudyFolder, job: JobSpec) -> None:
    """What has changed while a run was under way is told and kept: which of the two it read is not
    known."""
    assert folder.record is not None
    with suppress(LaunchError):  # the next run meets the same
        source = read_source(job, reading_shown)
        _keep(folder, changed_files(folder.record, source, chosen.definer.sends_source))


def _keep(folder: StudyFolder, changed: list[str]) -> None:
    """In the study's record, each once."""
    record = folder.record
    assert record is not None
    new = [path for path in changed if path not in record.changed]
    if new:
        folder.write(replace(record, changed=(*record.changed, *new)))
        say_problems([files_problem(new)])
