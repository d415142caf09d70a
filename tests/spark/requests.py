"""Dry runs of `launch spark` on a cluster that nobody asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.command import Answer, Launch

MASTER = "spark://127.0.0.1:7077"
HOROVOD = "import horovod.tensorflow as hvd\nhvd.init()\n"
PLAIN = "print('plain')\n"


def dry_run(
    launch: Launch, *words: str, master: str = MASTER, script: str = HOROVOD, **environment: str
) -> Answer:
    """`launch spark train.py --master ... --dry-run`, of Spark where no shell says another."""
    launch.write("train.py", script)
    arguments = words[words.index("--") :] if "--" in words else ()
    flags = words[: len(words) - len(arguments)]
    whole = ("spark", "train.py", "--master", master, *flags, "--dry-run", *arguments)
    return launch(*whole, **{"SPARK_HOME": "", "CONDA_PREFIX": "", **environment})


def document(launch: Launch, *words: str, **said: Any) -> dict[str, Any]:
    """The document of one that is well."""
    answer = dry_run(launch, *words, **said)
    assert answer.code == 0, answer.err
    found: dict[str, Any] = json.loads(answer.out)
    return found


def refusal(launch: Launch, *words: str, **said: Any) -> str:
    """What is said of one that is refused."""
    answer = dry_run(launch, *words, **said)
    assert answer.code == 2, answer.out
    assert answer.out == ""
    return answer.err


def spark_in(folder: Path, version: str = "3.5.3") -> str:
    """A folder that looks like Spark's."""
    (folder / "bin").mkdir(parents=True)
    (folder / "jars").mkdir()
    (folder / "bin" / "spark-submit").write_text("#!/bin/sh\n")
    (folder / "jars" / f"spark-core_2.12-{version}.jar").write_bytes(b"")
    return str(folder)
