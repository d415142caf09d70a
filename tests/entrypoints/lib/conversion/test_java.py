"""Which Java Spark is started on, and what is said where there is none that will do."""

from __future__ import annotations

from pathlib import Path

import pytest

from entrypoints.lib.conversion.engines import java
from entrypoints.lib.errors import TrainingError


def java_home(folder: Path, version: str) -> dict[str, str]:
    """An environment with a Java that says it is of that version."""
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return {"JAVA_HOME": str(folder), "PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("version", "spark"),
    [("1.8.0_392", "3.5.9"), ("11.0.21", "3.5.9"), ("17.0.9", "3.5.9"), ("21.0.1", "4.0.1")],
)
def test_a_java_of_that_spark_is_taken(version: str, spark: str, tmp_path: Path) -> None:
    environment = java_home(tmp_path, version)

    assert java.require(spark, environment) == f"{tmp_path}/bin/java"


@pytest.mark.parametrize(
    ("version", "spark", "said"),
    [
        ("1.7.0_80", "3.5.9", "is Java 7; expected Java 8, 11 or 17 for Spark 3.5.9"),
        ("25", "3.5.9", "is Java 25; expected Java 8, 11 or 17"),
        ("11.0.21", "4.0.1", "is Java 11; expected Java 17 or 21"),
        ("none", "3.5.9", "is no Java: openjdk"),
    ],
)
def test_another_java_is_refused_with_the_fix(
    version: str, spark: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(TrainingError, match=said) as caught:
        java.require(spark, java_home(tmp_path, version))

    assert "openjdk-17-jre-headless" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_java_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"no java on PATH; .*JAVA_HOME="):
        java.require("3.5.9", {"PATH": str(tmp_path)})
    with pytest.raises(TrainingError, match=r"JAVA_HOME is .* has no bin/java"):
        java.require("3.5.9", {"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"})
