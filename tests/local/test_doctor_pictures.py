"""What `launch doctor` says of the packages for pictures, and of Spark's Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchers.local.doctor import pictures


def test_what_is_not_there_names_its_extra_and_is_no_error() -> None:
    versions = {"pyarrow": "", "pillow": "", "distributed": "", "pyspark": ""}

    found = {one.name: one for one in pictures.findings(versions)}

    assert found["Parquet"].found == "no pyarrow and no Pillow; the extra data has it"
    assert "the extra dask" in found["Dask"].found
    assert "the extra spark" in found["Spark"].found
    assert {one.state for one in found.values()} == {"ok"}


def test_sparks_java_is_named_or_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    versions = {"pyarrow": "1", "pillow": "2", "distributed": "3", "pyspark": "3.5.9"}

    assert "openjdk-17-jre-headless" in pictures.findings(versions)[-1].found

    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"17.0.9\"' >&2\n")
    program.chmod(0o755)

    assert pictures.findings(versions)[-1].found == "PySpark 3.5.9; Java 17.0.9"
