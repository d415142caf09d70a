"""A disk of this machine that is full is told as that, at any moment of a rehearsal."""

from __future__ import annotations

import contextlib
import errno
import io
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from launchers.core.catalogue import RULES
from launchers.core.model.containers import Conduct
from launchers.core.model.jobs import JobDefinition
from launchers.core.model.problems import (
    EXIT_BAD_REQUEST,
    EXIT_JOB_DID_NOT_SUCCEED,
    EXIT_PREFLIGHT,
    LaunchError,
)
from launchers.rehearsal import run
from launchers.rehearsal.course.outputs import carry_over, collect_outputs
from tests.rehearsal.boxes import PROOF, Heard, things_of
from tests.rehearsal.boxes import run as rehearse_boxes


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB of its own; needs root, as CI is."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


class Cluster:
    """One host with a folder of 4 MB."""

    def folder(self, host: str, path: str) -> Iterator[bytes]:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            member = tarfile.TarInfo("model/weights")
            member.size = 4 << 20
            archive.addfile(member, io.BytesIO(bytes(member.size)))
        yield buffer.getvalue()


class BrokenCluster:
    """One whose engine breaks the stream off."""

    def folder(self, host: str, path: str) -> Iterator[bytes]:
        raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")


HOST: Any = SimpleNamespace(name="host-1", collected={"model": "/opt/ml/model"}, kept=["/opt/c"])


@pytest.mark.parametrize("copy", [collect_outputs, carry_over])
def test_a_full_disk_is_not_blamed_on_the_container(small_disk: Path, copy: Any) -> None:
    with pytest.raises(OSError, match="No space left on device") as raised:
        copy(Cluster(), [HOST], small_disk)
    assert str(raised.value.filename).startswith(str(small_disk))


def test_a_stream_that_breaks_is_the_containers(tmp_path: Path) -> None:
    cluster: Any = BrokenCluster()
    outputs = collect_outputs(cluster, [HOST], tmp_path)
    assert outputs.refused == ["host-1 model: /opt/ml/model cannot be read: ConnectionResetError"]


class FullCourse:
    """A course that meets a full disk or an engine's refusal, with or without containers that
    ran."""

    began = False
    error: Exception = OSError(errno.ENOSPC, "No space left on device")

    def __init__(self, *given: Any) -> None:
        self.began = FullCourse.began

    def run(self) -> Any:
        raise self.error


@pytest.fixture
def rehearsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], LaunchError]:
    """Runs a rehearsal of :class:`FullCourse` without an engine; gives what it raises."""
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path))
    monkeypatch.setattr(run, "connected", contextlib.nullcontext)
    monkeypatch.setattr(run.leftovers, "clean_left_over", lambda client: [])
    monkeypatch.setattr(run.leftovers, "remove_all", lambda client, labels: [])
    monkeypatch.setattr(run, "stage", lambda *given: SimpleNamespace(conduct=Conduct()))
    monkeypatch.setattr(run, "Course", FullCourse)
    monkeypatch.setattr(run, "Lifeline", lambda labels: SimpleNamespace(cut=lambda: None))
    audience: Any = SimpleNamespace(note=lambda text: None, plan=lambda *given: None)
    options: Any = SimpleNamespace(interrupt_after=None)
    contract: Any = None
    definition = JobDefinition("vertex", "job-1", 2, "{}", {})

    def refusal() -> LaunchError:
        with pytest.raises(LaunchError) as raised:
            run.rehearse(contract, definition, None, options, audience)
        return raised.value

    return refusal


@pytest.mark.parametrize(
    ("staged", "began", "code"), [(False, False, 2), (True, False, 2), (True, True, 1)]
)
def test_a_full_disk_is_one_line_with_the_code_of_its_moment(
    rehearsed: Callable[[], LaunchError],
    monkeypatch: pytest.MonkeyPatch,
    staged: bool,
    began: bool,
    code: int,
) -> None:
    def refuse(*given: Any) -> Any:
        raise FullCourse.error

    if not staged:
        monkeypatch.setattr(run, "stage", refuse)
    monkeypatch.setattr(FullCourse, "began", began)
    refusal = rehearsed()
    (problem,) = refusal.problems
    assert (problem.rule, problem.found) == ("folder-unwritable", "No space left on device")
    assert refusal.exit_code == code


@pytest.mark.parametrize(("began", "code"), [(False, EXIT_PREFLIGHT), (True, 1)])
def test_an_engines_refusal_has_the_code_of_its_moment(
    rehearsed: Callable[[], LaunchError], monkeypatch: pytest.MonkeyPatch, began: bool, code: int
) -> None:
    refused = LaunchError(RULES["docker-engine"].at("Docker engine", "no network"), EXIT_PREFLIGHT)
    monkeypatch.setattr(FullCourse, "began", began)
    monkeypatch.setattr(FullCourse, "error", refused)
    assert rehearsed().exit_code == code


FILL = "head -c 4194304 /dev/zero > /opt/ml/model/weights"


@pytest.mark.docker
@pytest.mark.usefixtures("base")
def test_a_disk_that_a_jobs_model_fills_is_one_line_after_the_ranks(
    small_disk: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAUNCH_HOME", str(small_disk))
    heard = Heard()
    with pytest.raises(LaunchError) as raised:
        rehearse_boxes(f"{PROOF}; {FILL}", "true", heard=heard, name="filled")
    (problem,) = raised.value.problems
    assert (problem.rule, problem.found) == ("folder-unwritable", "No space left on device")
    assert problem.path.startswith(str(small_disk))
    assert raised.value.exit_code == EXIT_JOB_DID_NOT_SUCCEED
    assert any("proof" in text for text in heard.of("algo-1")), "its ranks ran"
    assert any(text.startswith("the job itself succeeded: world size 2") for text in heard.notes)
    assert things_of(client, "filled") == []


@pytest.mark.docker
@pytest.mark.usefixtures("base")
def test_a_disk_that_is_full_already_is_one_line_before_any_rank(
    small_disk: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (small_disk / "home").mkdir()
    with contextlib.suppress(OSError), (small_disk / "full").open("wb") as file:
        file.write(bytes(2 << 20))
    monkeypatch.setenv("LAUNCH_HOME", str(small_disk / "home"))
    heard = Heard()
    with pytest.raises(LaunchError) as raised:
        rehearse_boxes(PROOF, "true", heard=heard, name="full")
    (problem,) = raised.value.problems
    assert (problem.rule, problem.found) == ("folder-unwritable", "No space left on device")
    assert raised.value.exit_code == EXIT_BAD_REQUEST
    assert heard.lines == []
    assert things_of(client, "full") == []
