"""Nothing of a rehearsal is left, whatever happened to its launcher."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launchers.rehearsal.engine import leftovers
from launchers.rehearsal.engine.labels import Labels, this_machine
from launchers.rehearsal.engine.workplace import MEMORY, Workplace, left_folders
from tests.cli.command import Launch
from tests.places import ROOT
from tests.rehearsal.boxes import PROOF, run, things_of
from tests.waiting import processes_with, until

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("base")]

# A launcher of its own, so that it can be killed.
REHEARSE = """
from launchers.cli import interrupts
from tests.rehearsal.boxes import run
interrupts.listen()
try:
    run("sleep 1000", "sleep 1000", name="left-behind")
except KeyboardInterrupt:
    raise SystemExit(130)
"""
DEAD = "1:1:no-such-boot"


@pytest.fixture
def launcher(home: Path, client: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A launcher in another process, whose two containers run."""
    process = subprocess.Popen(
        [sys.executable, "-c", REHEARSE],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "LAUNCH_HOME": str(home)},
        start_new_session=True,
    )
    until(lambda: len(running(client)) == 2, "two running containers")
    yield process
    process.kill()
    process.wait()
    leftovers.clean_left_over(client)


def kill_with_its_lifeline(launcher: subprocess.Popen[bytes], home: Path) -> None:
    """As the kernel or a service manager does that ends a whole group at once."""
    (lifeline,) = (
        number for number, command in processes_with(str(home)).items() if "lifeline" in command
    )
    os.kill(lifeline, signal.SIGKILL)
    launcher.kill()
    launcher.wait()


def running(client: Any) -> list[Any]:
    chosen = {"label": "launch.rehearsal.job=left-behind", "status": "running"}
    found: list[Any] = client.api.containers(filters=chosen)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_launcher_that_is_asked_to_end_takes_everything_along(
    number: signal.Signals, launcher: subprocess.Popen[bytes], client: Any
) -> None:
    launcher.send_signal(number)
    assert launcher.wait(60) == 130
    assert things_of(client, "left-behind") == []
    assert list(left_folders()) == []


def test_impatience_does_not_stop_the_cleaning(
    launcher: subprocess.Popen[bytes], client: Any
) -> None:
    for _ in range(5):
        launcher.send_signal(signal.SIGINT)
    assert launcher.wait(60) == 130
    assert things_of(client, "left-behind") == []


def test_nothing_outlives_a_killed_launcher(
    launcher: subprocess.Popen[bytes], client: Any, home: Path
) -> None:
    launcher.kill()
    launcher.wait()
    until(lambda: things_of(client, "left-behind") == [], "containers and network go", 20)
    until(lambda: not list(left_folders()) and not processes_with(str(home)), "the rest", 20)


def test_what_is_left_all_the_same_is_removed_at_the_next_start(
    launcher: subprocess.Popen[bytes], client: Any, home: Path
) -> None:
    kill_with_its_lifeline(launcher, home)
    assert len(things_of(client, "left-behind")) == 3, "two containers and a network"
    assert len(list(left_folders())) == 1
    run(PROOF, "sleep 1000", name="the-next")
    assert things_of(client, "left-behind") == []
    assert list(left_folders()) == []


def test_a_running_rehearsal_of_another_launcher_is_left_alone(
    launcher: subprocess.Popen[bytes], client: Any, launch: Launch, home: Path
) -> None:
    run(PROOF, "sleep 1000", name="beside-it")
    answer = launch("rehearsals", "--clean", LAUNCH_HOME=str(home))
    assert answer.code == 0
    assert len(running(client)) == 2


def test_rehearsals_lists_what_is_left_and_clean_removes_it(
    launcher: subprocess.Popen[bytes], client: Any, launch: Launch, home: Path
) -> None:
    listed = launch("rehearsals", "--json", LAUNCH_HOME=str(home)).json
    assert [item["state"] for item in listed if item["job"] == "left-behind"] == ["running"]
    kill_with_its_lifeline(launcher, home)
    table = launch("rehearsals", LAUNCH_HOME=str(home)).out
    assert "left over" in table
    assert "2 containers, 1 network, 1 folder" in table
    cleaned = launch("rehearsals", "--clean", LAUNCH_HOME=str(home))
    assert (cleaned.code, cleaned.err) == (0, "removed 1\n")
    assert things_of(client, "left-behind") == []
    assert list(left_folders()) == []


def test_a_container_of_an_image_that_was_made_of_ours_is_somebody_elses(
    base: str, client: Any
) -> None:
    labels = Labels("dead02", "elsewhere", DEAD, this_machine(), 1.0)
    theirs = client.containers.create(base, "true", labels=labels.values())
    try:
        assert all(item.labels.id != "dead02" for item in leftovers.rehearsals(client))
        leftovers.clean_left_over(client)
        assert leftovers.remove_all(client, labels) == []
        theirs.reload()
    finally:
        theirs.remove(force=True)


def test_what_another_machines_launcher_started_is_removed_only_on_request(
    client: Any, launch: Launch
) -> None:
    labels = Labels("far", "elsewhere", DEAD, "another machine", 1.0)
    client.api.create_network(labels.name, labels=labels.values())
    try:
        leftovers.clean_left_over(client)
        launch("rehearsals", "--clean")
        assert things_of(client, "elsewhere") == ["launch-far"]
        listed = launch("rehearsals", "--json").json
        assert [item["state"] for item in listed if item["id"] == "far"] == ["unknown"]
        assert launch("rehearsals", "--clean", "--all").code == 0
        assert things_of(client, "elsewhere") == []
    finally:
        for network in client.networks.list(names=[labels.name]):
            network.remove()


def test_credentials_of_a_killed_launcher_go_with_the_rest(client: Any, home: Path) -> None:
    labels = Labels("dead01", "killed", DEAD, this_machine(), 1.0)
    workplace = Workplace(labels)
    workplace.make()
    workplace.make_memory()
    assert workplace.memory.parent == MEMORY
    assert workplace.memory.stat().st_mode & 0o077 == 0
    leftovers.clean_left_over(client)
    assert not workplace.memory.exists()
    assert not workplace.folder.exists()


def test_no_engine_is_one_line_with_the_ways_on(launch: Launch, tmp_path: Path) -> None:
    document = tmp_path / "job.json"
    document.write_text(launch("sagemaker", "--gpus", "4", "--dry-run").out)
    answer = launch("rehearse", str(document), DOCKER_HOST=f"unix://{tmp_path}/absent.sock")
    assert answer.code == 4
    told = [line for line in answer.err.splitlines() if line.startswith("error")]
    assert len(told) == 1
    assert "dockerd" in told[0]
    assert "launch local" in told[0]


def test_an_image_that_is_nowhere_ends_with_both_ways_on(
    launch: Launch, tmp_path: Path, client: Any
) -> None:
    asked = ("sagemaker", "--gpus", "4", "--dry-run")
    document = tmp_path / "job.json"
    document.write_text(launch(*asked).out)
    name = json.loads(document.read_text())["TrainingJobName"]
    absent = "127.0.0.1:9/absent:none"
    answer = launch("rehearse", str(document), "--rehearsal-image", absent)
    assert answer.code == 2
    assert f"docker pull {absent}" in answer.err
    assert "launch-horovod:" in answer.err or "launch image build" in answer.err
    assert things_of(client, name) == []
