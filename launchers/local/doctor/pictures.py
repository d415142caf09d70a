"""What `launch data` finds in the ranks' Python, and the Java for Spark. None of it is needed for
training on other data, so nothing here is an error."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from launchers.core.model.findings import Finding, well
from launchers.local.doctor.machine import VERSION_SECONDS

PROGRAM = """
import json
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
names = ("pyarrow", "pillow", "distributed", "pyspark")
print("LAUNCH " + json.dumps({name: version(name) for name in names}))
"""
# Spark 3.5's documentation, "Overview".
_JAVA = "8, 11 or 17"


def findings(versions: dict[str, str]) -> list[Finding]:
    """A row each for Parquet, Dask and Spark; asks Java for its version.

    Args:
        versions: What ``PROGRAM`` printed.
    """
    rows = [
        _row("Parquet", {"pyarrow": versions["pyarrow"], "Pillow": versions["pillow"]}, "data"),
        _row("Dask", {"dask.distributed": versions["distributed"]}, "dask"),
        _row("Spark", {"PySpark": versions["pyspark"]}, "spark"),
    ]
    if versions["pyspark"]:
        text = f"{rows[-1].found}; {java(os.environ.get('JAVA_HOME'))}"
        rows[-1] = well("Spark", text, f"Java {_JAVA}")
    return rows


def _row(name: str, versions: dict[str, str], extra: str) -> Finding:
    missing = [one for one, version in versions.items() if not version]
    if missing:
        return well(name, f"no {' and no '.join(missing)}; the extra {extra} has it")
    return well(name, ", ".join(f"{one} {version}" for one, version in versions.items()))


def java(home: str | None) -> str:
    """The Java that Spark would start, in words."""
    path = str(Path(home) / "bin" / "java") if home else "java"
    if shutil.which(path) is None:
        return f"no {path}; Debian: apt-get install openjdk-17-jre-headless"
    try:
        # It says its version on standard error.
        done = subprocess.run(
            [path, "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"Java does not start: {error}"
    found = re.search(r'version "([^"]+)"', done.stderr)
    return f"Java {found[1]}" if found else f"{path} says no version"
