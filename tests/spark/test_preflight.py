"""What stops a Spark job before its first rank."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.problems import Problem
from launchers.spark.service import installation
from launchers.spark.service.master import master_problems
from tests.cli.command import Launch
from tests.spark.requests import HOROVOD, spark_in


def program(path: Path, text: str) -> Path:
    """A program that this user may run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def java(folder: Path, version: str) -> str:
    """A JAVA_HOME whose java says that version, as java does: to stderr."""
    program(folder / "bin" / "java", f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    return str(folder)


def only(problems: list[Problem]) -> tuple[str, str]:
    """The one problem's rule and what it found."""
    (problem,) = problems
    return problem.rule, problem.found


@contextmanager
def listening() -> Iterator[int]:
    """A port on loopback that takes connections."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    with listening() as port:
        return port


def test_a_spark_submit_that_may_not_be_run_is_told(tmp_path: Path) -> None:
    home = spark_in(tmp_path / "spark")
    assert only(installation.submit_problems(home))[0] == "spark-submit"
    (tmp_path / "spark" / "bin" / "spark-submit").chmod(0o755)
    assert installation.submit_problems(home) == []


@pytest.mark.parametrize(
    ("spark", "version", "wrong"),
    [
        ("3.5.3", "17.0.15", ""),
        ("3.5.3", "1.8.0_392", ""),
        ("3.5.3", "21.0.2", "Java 21"),
        ("4.0.0", "1.8.0_392", "Java 8"),
        ("9.1.0", "21.0.2", ""),
    ],
)
def test_a_java_that_this_spark_does_not_run_on_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: str, version: str, wrong: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path / "java", version))
    problems = installation.java_problems(spark_in(tmp_path / "spark", spark))
    if not wrong:
        assert problems == []
        return
    (problem,) = problems
    assert (problem.rule, problem.path) == ("spark-java", "$JAVA_HOME")
    assert problem.found.startswith(wrong)
    assert f"for Spark {spark}" in problem.expected


def test_no_java_at_all_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = spark_in(tmp_path / "spark")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert only(installation.java_problems(home)) == (
        "spark-java",
        "none on PATH, and JAVA_HOME is not set",
    )
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert only(installation.java_problems(home))[1] == f"{tmp_path} has no bin/java"


def env_script(folder: Path, text: str) -> None:
    """The script that spark-submit runs first."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spark-env.sh").write_text(text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("export JAVA_HOME=/opt/java\n", True),
        ("# ours\n  JAVA_HOME=/opt/java\n", True),
        ("# export JAVA_HOME=/opt/java\n", False),
        ("export MY_JAVA_HOME=/opt/java\n", False),
    ],
)
def test_a_java_that_sparks_own_script_names_is_left_to_spark_submit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, named: bool
) -> None:
    home = spark_in(tmp_path / "spark")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    env_script(tmp_path / "spark" / "conf", text)
    assert (installation.java_problems(home) == []) is named
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert only(installation.java_problems(home))[0] == "spark-java"


@pytest.mark.parametrize(
    ("answer", "environment", "rules"),
    [
        ({}, {}, []),
        ({"pyspark": None}, {}, []),
        ({"pyarrow": None}, {}, ["spark-pyarrow"]),
        ({"pandas": None}, {}, []),
        ({}, {"LAUNCH_STRATEGY": "torch"}, []),
        ({"pyarrow": None}, {"LAUNCH_STRATEGY": "torch"}, ["spark-pyarrow"]),
        ({"pandas": None}, {"LAUNCH_STRATEGY": "torch"}, ["spark-pyarrow"]),
        ({"pyspark": "3.4.1"}, {}, ["spark-pyspark"]),
    ],
)
def test_what_the_drivers_python_lacks_is_told(
    tmp_path: Path, answer: dict[str, Any], environment: dict[str, str], rules: list[str]
) -> None:
    has = {"pyspark": "3.5.3", "pyarrow": "15.0.2", "pandas": "2.2.2", **answer}
    told = str(has).replace("None", "null").replace("'", '"')
    python = program(tmp_path / "python", f"#!/bin/sh\necho '{told}'\n")
    document = {
        "deploy_mode": "client",
        "driver_python": str(python),
        "spark_home": spark_in(tmp_path / "spark"),
        "environment": {},
        "conf": {f"spark.executorEnv.{name}": value for name, value in environment.items()},
    }
    assert [one.rule for one in installation.python_problems(document)] == rules
    assert installation.python_problems({**document, "deploy_mode": "cluster"}) == []


def test_a_python_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    problems = installation.library_problems(str(tmp_path / "none"), "", "horovod")
    assert only(problems)[0] == "spark-driver-python"


def test_a_master_that_takes_no_connection_is_told_before_anything_starts(
    launch: Launch, closed_port: int
) -> None:
    launch.write("train.py", HOROVOD)
    master = f"spark://127.0.0.1:{closed_port}"
    answer = launch("spark", "train.py", "--master", master, "--python", sys.executable)
    assert answer.code == 2
    assert "[spark-master-silent]" in answer.err
    assert f"127.0.0.1:{closed_port} cannot be reached: Connection refused" in answer.err
    assert launch("list", "--json").json == []


def test_one_master_of_several_that_answers_is_enough(closed_port: int) -> None:
    with listening() as port:
        places = f"127.0.0.1:{closed_port},127.0.0.1:{port}"
        assert master_problems(f"spark://{places}", "") == []
        assert master_problems(f"k8s://https://127.0.0.1:{port}", "") == []
    assert only(master_problems(f"k8s://127.0.0.1:{closed_port}", ""))[0] == "spark-master-silent"


def test_a_master_on_this_machine_alone_is_not_asked() -> None:
    assert master_problems("local[2]", "") == []
    assert master_problems("local-cluster[2,1,1024]", "") == []


def test_yarn_needs_to_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    home = spark_in(tmp_path / "spark")
    assert only(master_problems("yarn", home))[0] == "spark-yarn-conf"
    env_script(tmp_path / "spark" / "conf", "export HADOOP_CONF_DIR=/etc/hadoop\n")
    assert master_problems("yarn", home) == []
    monkeypatch.setenv("YARN_CONF_DIR", "/etc/hadoop")
    assert master_problems("yarn", "") == []


@contextmanager
def page(text: str) -> Iterator[int]:
    """A web server on loopback whose only page is that."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Not in the tests' output."""

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("version", "of_another", "told"),
    [("3.4.1", False, True), ("3.5.0", False, False), ("3.4.1", True, False)],
)
def test_a_master_of_another_spark_is_told_by_its_own_page(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    of_another: bool,
    told: bool,
) -> None:
    with listening() as port:
        shown = "elsewhere:7077" if of_another else f"127.0.0.1:{port}"
        text = f'<span class="version" style="x">{version}</span> <li>URL: spark://{shown}</li>'
        with page(text) as at:
            monkeypatch.setenv("SPARK_MASTER_WEBUI_PORT", str(at))
            problems = master_problems(f"spark://127.0.0.1:{port}", spark_in(tmp_path / "spark"))
    assert [one.rule for one in problems] == (["spark-master-version"] if told else [])
