"""Workers that have what this machine has not."""

from __future__ import annotations

from pathlib import Path


def with_gpu(folder: Path, address: int) -> dict[str, str]:
    """Conf of a worker: one device, which Spark's resource discovery finds."""
    script = folder / f"discover-{address}.sh"
    script.write_text(f'#!/bin/sh\necho \'{{"name": "gpu", "addresses": ["{address}"]}}\'\n')
    script.chmod(0o755)
    resource = "spark.worker.resource.gpu"
    return {f"{resource}.amount": "1", f"{resource}.discoveryScript": str(script)}


def with_older_horovod(folder: Path) -> dict[str, str]:
    """Variables of a worker: another Horovod than the executors' environment has."""
    found = folder / "older" / "horovod-0.27.0.dist-info"
    found.mkdir(parents=True)
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: horovod\nVersion: 0.27.0\n")
    return {"PYTHONPATH": str(found.parent)}
