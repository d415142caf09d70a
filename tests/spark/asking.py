"""A driver that counts slots and asks executors; says what it found, one line of JSON a question.

asking.py QUESTIONS          a JSON list of {"instances": 2, "look": true, ...}
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "entrypoints"))

from launch_runtime.spark import executors, jvm_end, slots
from pyspark.sql import SparkSession


def say(text: str) -> None:
    print(f"said: {text}", flush=True)


def answer(session: Any, question: dict[str, Any]) -> dict[str, Any]:
    settings = SimpleNamespace(
        instances=question["instances"],
        processes=question.get("processes", 1),
        ranks=question["instances"] * question.get("processes", 1),
        reminder=30.0,
        strategy=SimpleNamespace(name=question.get("strategy", "horovod")),
    )
    job: Any = SimpleNamespace(
        settings=settings,
        slots_seconds=question["seconds"],
        environment=question.get("environment", {}),
        executable=question.get("executable", ""),
        folders=["launch_code"],
    )
    found = slots.await_slots(session, job, say)
    told = {"slots": found.fields(), "problem": found.problem, "fix": found.fix}
    if found.problem:
        return told
    address = session.sparkContext.getConf().get("spark.driver.host")
    seen = executors.look_at_executors(session, job, say, found, address)
    answers = [one._asdict() for one in seen.answers]
    return {**told, "problem": seen.problem, "fix": seen.fix, "answers": answers}


def main() -> None:
    session = SparkSession.builder.getOrCreate()
    for question in json.loads(sys.argv[1]):
        print("answer: " + json.dumps(answer(session, question)), flush=True)
    jvm_end.end(session, 0)


if __name__ == "__main__":
    main()
