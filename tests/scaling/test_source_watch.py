"""A source that changes while its study runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from launchers.cli.studies.on_cloud import run_on_cloud
from launchers.cli.studies.source_watch import after_a_run, before_a_run
from launchers.core.source.script import read_source
from launchers.core.spec.job import JobSpec
from launchers.scaling.contents import digests_of
from launchers.scaling.identity import source_digest
from launchers.scaling.records import StudyFolder
from tests.refusals import refused
from tests.scaling.made import project, record, run

HERE: Any = SimpleNamespace(name="here", definer=SimpleNamespace(sends_source=False))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return project(tmp_path)


@pytest.fixture
def job(source: Path) -> JobSpec:
    return JobSpec(script=str(source / "train.py"))


@pytest.fixture
def study(tmp_path: Path, job: JobSpec) -> StudyFolder:
    read = read_source(job)
    found = replace(
        record(run(state="waiting", job="")), source=source_digest(read), files=digests_of(read)
    )
    folder = StudyFolder(tmp_path / "study")
    folder.path.mkdir()
    folder.write(found)
    return folder


def changed(study: StudyFolder) -> tuple[str, ...]:
    found = StudyFolder(study.path).read()
    assert found is not None
    return found.changed


def test_a_file_that_changes_is_told_and_kept_once(
    source: Path, job: JobSpec, study: StudyFolder, capsys: pytest.CaptureFixture[str]
):
    before_a_run(HERE, study, job)
    assert (changed(study), capsys.readouterr().err) == ((), "")
    (source / "config.json").write_text("[]")

    before_a_run(HERE, study, job)
    after_a_run(HERE, study, job)

    told = capsys.readouterr().err
    assert told.count("config.json; expected") == told.count("[scaling-files]") == 1
    assert changed(study) == ("config.json",)


def test_the_last_run_is_kept_with_what_changed_under_it(
    source: Path, job: JobSpec, study: StudyFolder
):
    (source / "train.py").unlink()

    after_a_run(HERE, study, job)

    assert changed(study) == ("train.py",)
    with refused("scaling-another", "deleted since the study began"):
        before_a_run(HERE, study, job)


def test_nothing_is_sent_to_a_cloud_of_another_script(
    source: Path, job: JobSpec, study: StudyFolder
):
    (source / "train.py").write_text("print('new')\n")
    plan: Any = SimpleNamespace(runs=[SimpleNamespace(prepared=SimpleNamespace(job=job))])
    assert study.record is not None

    with refused("scaling-another", "changed since the study began: train.py"):
        run_on_cloud(HERE, plan, study, study.record.runs, {}, 1, (), cancel=False)
