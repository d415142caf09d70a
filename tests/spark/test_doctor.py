"""`launch doctor spark`: what a driver's machine has, and whether its master answers."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.cli.doctor import Doctor, examined


@pytest.fixture
def doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return examined(tmp_path, monkeypatch, capsys)


@pytest.mark.processes
def test_a_machine_that_can_start_drivers_and_reach_its_master_is_well(doctor: Doctor) -> None:
    with socket.socket() as master:
        master.bind(("127.0.0.1", 0))
        master.listen()
        url = f"spark://127.0.0.1:{master.getsockname()[1]}"
        told = doctor.json("spark", "--master", url)
    found = told.of("spark")
    assert {one["state"] for one in found.values()} == {"ok"}, found
    assert found["master"]["found"] == f"{url} answers"
    assert found["Java"]["found"].startswith("Java 17 (")
    assert "Horovod 0.28.1" in found["driver's Python"]["found"]
    assert told.code == 0


@pytest.mark.processes
def test_a_master_that_is_silent_is_an_error_and_offline_it_is_not_asked(doctor: Doctor) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"spark://127.0.0.1:{taken.getsockname()[1]}"  # nothing listens there
        told = doctor.json("spark", "--master", url)
        offline = doctor.json("spark", "--master", url, "--offline")
    assert told.of("spark")["master"]["rule"] == "spark-master-silent"
    assert told.code == 2
    assert offline.of("spark")["master"]["state"] == "skipped"


@pytest.mark.processes
def test_without_a_master_it_is_said_how_to_name_one(doctor: Doctor) -> None:
    found = doctor.json("spark").of("spark")["master"]
    assert (found["state"], found["rule"]) == ("warning", "spark-master")
    assert "--master" in found["fix"]


def test_without_spark_the_rest_is_not_looked_at(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    found = doctor.json("spark").of("spark")
    assert found["Spark"]["rule"] == "spark-home"
    assert found["Java"]["state"] == found["PyArrow"]["state"] == "skipped"


def test_a_java_that_only_sparks_own_script_names_is_left_to_it(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-env.sh").write_text("export JAVA_HOME=/opt/java\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    found = doctor.json("spark", "--offline").of("spark")["Java"]
    assert (found["state"], found["found"]) == ("ok", f"that of {tmp_path / 'spark-env.sh'}")


@pytest.mark.processes  # of this Python, whose stack is imported
def test_who_has_no_master_is_not_asked_for_spark(doctor: Doctor) -> None:
    (found,) = doctor.json("--offline").of("spark").values()
    assert (found["name"], found["state"]) == ("set up", "skipped")
