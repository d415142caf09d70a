"""A task on a worker: what must be there, and what is said where it isn't."""

from __future__ import annotations

import importlib
import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest

from entrypoints.lib import dask_code
from entrypoints.lib.conversion import listing, options, plan, tasks
from entrypoints.lib.conversion.engines import travelling
from entrypoints.lib.errors import TrainingError
from tests.entrypoints.lib.conversion import places


@pytest.fixture
def job(tmp_path: Path) -> tuple[tasks.Task, ...]:
    """The tasks of a conversion whose place has its plan."""
    source = places.make_pictures(tmp_path / "images", 12)
    out = tmp_path / "out"
    (out / "_conversion" / "tasks").mkdir(parents=True)
    (out / "_conversion" / "plan.json").write_text("{}")
    given = options.parse([str(source), str(out), *places.FULL], ArgumentParser)
    return tuple(plan.planned(given, listing.listed(str(source))).tasks)


def test_a_task_is_done_by_the_package_under_another_name(
    job: tuple[tasks.Task, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = dask_code.packed()
    (tmp_path / "code.zip").write_bytes(code.content)
    monkeypatch.syspath_prepend(str(tmp_path / "code.zip"))
    there: Any = importlib.import_module(f"{code.name}.conversion.engines.travelling")
    try:
        answer = there.perform(travelling.packed(job[0], travelling.marks_of(job)))
    finally:
        for name in [name for name in sys.modules if name.startswith(code.name)]:
            del sys.modules[name]

    record = travelling.record(answer)
    assert record.number == job[0].number
    assert record.parts
    for part in record.parts.values():
        assert (Path(job[0].place) / part.file.name).stat().st_size == part.file.bytes


def test_what_was_not_delivered_is_read_from_the_source(job: tuple[tasks.Task, ...]) -> None:
    marks = travelling.marks_of(job)
    first = job[0].pictures[0].path
    delivered = [(first, bytearray((Path(job[0].source) / first).read_bytes()))]

    answer = travelling.perform_delivered(travelling.packed(job[0], marks), delivered)

    whole = travelling.perform(travelling.packed(job[0], marks))
    assert answer == whole
    assert travelling.record(answer).parts


@pytest.mark.parametrize(
    ("lost", "said"),
    [("images", "does not see IMAGES"), ("out", "does not see OUT")],
)
def test_a_worker_that_does_not_see_a_folder_says_so(
    lost: str, said: str, job: tuple[tasks.Task, ...], tmp_path: Path
) -> None:
    content = travelling.packed(job[0], travelling.marks_of(job))
    shutil.rmtree(tmp_path / lost)
    (tmp_path / lost).mkdir()

    with pytest.raises(TrainingError, match=f"{said}.*expected the same folder") as caught:
        travelling.record(travelling.perform(content))

    assert "\n" not in str(caught.value)
    assert str(tmp_path / lost) in str(caught.value)


@pytest.mark.parametrize(
    ("package", "there", "said"),
    [("pyarrow", "", "pyarrow is not installed"), ("pillow", "1.0", "pillow 1.0")],
)
def test_a_worker_with_other_packages_says_what_to_install(
    package: str,
    there: str,
    said: str,
    job: tuple[tasks.Task, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = travelling.packed(job[0], travelling.marks_of(job))
    found = travelling.installed
    monkeypatch.setattr(
        travelling, "installed", lambda name: there if name == package else found(name)
    )

    with pytest.raises(TrainingError, match=rf"{said}, expected .* pip install pyarrow=="):
        travelling.record(travelling.perform(content))


def test_a_copy_of_the_bytes_does_not_ask_for_one_release_of_pillow(
    job: tuple[tasks.Task, ...],
) -> None:
    assert set(travelling.marks_of(job).versions) == {"pyarrow", "pillow"}

    copied = tuple(_as_they_are(task) for task in job)

    assert set(travelling.marks_of(copied).versions) == {"pyarrow"}


def _as_they_are(task: tasks.Task) -> tasks.Task:
    from dataclasses import replace

    return replace(task, recipe=replace(task.recipe, size=None, copies=0, augment=()))
