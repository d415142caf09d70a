"""What `launch spark` refuses of its masters and properties, and names of its source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Launch
from tests.spark.requests import HOROVOD, document, dry_run, refusal


@pytest.mark.parametrize(
    ("words", "master", "rule"),
    [
        (("--conf", "spark.task.maxFailures=4"), "spark://h:7077", "spark-retries"),
        (("--conf", "spark.executor.instances=9"), "yarn", "spark-size"),
        (("--instances", "2"), "local[2]", "spark-local-executors"),
        (("--processes", "4"), "local[2]", "spark-local-threads"),
        (("--deploy-mode", "cluster"), "spark://h:7077", "spark-deploy-mode"),
        (("--instances", "2"), "local-cluster[1,1,1024]", "spark-workers"),
        ((), "k8s://https://h:6443", "spark-image"),
        (("--deploy-mode", "cluster"), "yarn", "spark-place"),
        (
            ("--image", "a/b:1", "--deploy-mode", "cluster", "--output-path", "/shared"),
            "k8s://https://h:6443",
            "spark-upload",
        ),
        (("--env", "PYSPARK_PYTHON=/opt/python"), "spark://h:7077", "spark-conf-python"),
        (("--conf", "spark.remote=sc://h"), "spark://h:7077", "spark-conf-flag"),
        (
            ("--image", "a/b:1", "--conf", "spark.kubernetes.container.image=c/d:2"),
            "k8s://https://h:6443",
            "spark-conf-flag",
        ),
        ((), "host:7077", "spark-master"),
    ],
)
def test_what_would_start_other_ranks_is_refused(
    launch: Launch, words: tuple[str, ...], master: str, rule: str
):
    assert f"[{rule}]" in refusal(launch, *words, master=master)


def test_a_harmless_property_is_in_the_document_as_it_was_given(launch: Launch):
    found = document(launch, "--conf", "spark.executor.memory=4g", "--instances", "2")
    assert found["conf"]["spark.executor.memory"] == "4g"


def test_cores_of_a_task_make_larger_executors_and_no_fewer_ranks(launch: Launch):
    words = ("--conf", "spark.task.cpus= 02 ", "--instances", "2", "--processes", "3")
    conf = document(launch, *words)["conf"]
    assert (conf["spark.executor.cores"], conf["spark.cores.max"]) == ("6", "12")
    assert conf["spark.task.cpus"] == "2"


def test_horovod_runner_in_a_notebook_beside_the_script_is_named_in_the_plan(launch: Launch):
    code = "from sparkdl import HorovodRunner\nHorovodRunner(np=8).run(main)"
    cells = [{"cell_type": "code", "source": [code]}]
    launch.write("old.ipynb", json.dumps({"nbformat": 4, "cells": cells}))
    answer = dry_run(launch, "--instances", "2", script=HOROVOD)
    assert answer.code == 0
    assert "old.ipynb, cell 1" in answer.err
    assert "[spark-horovod-runner]" in answer.err


def test_a_printed_document_is_checked_as_it_is_and_with_its_source(launch: Launch):
    Path(launch.folder, "job.json").write_text(json.dumps(document(launch, "--instances", "2")))
    launch.write("nb.py", "from sparkdl import HorovodRunner\nHorovodRunner(np=2)")
    assert launch("check", "job.json").code == 0
    answer = launch("check", "job.json", "--source", ".", "--json")
    assert answer.code == 0, answer.err
    assert [one["rule"] for one in json.loads(answer.out)["problems"]] == ["spark-horovod-runner"]
