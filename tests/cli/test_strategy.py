"""What a script's source says is told before anything is sent, on every provider."""

from __future__ import annotations

import json

import pytest

from launchers.core.analysis.document_source import DocumentSource, with_source
from launchers.core.model.problems import Problem
from launchers.core.registry import provider
from tests.cli.command import Launch

HVD = "import horovod.tensorflow as hvd\nhvd.init()\n"
ALONE = "import tensorflow as tf\nmodel = tf.keras.Sequential()\n"
SERVERS = "import tensorflow as tf\ns = tf.distribute.ParameterServerStrategy(None)\n"
SEVERAL = {
    "local": ("--processes", "2"),
    "sagemaker": ("--gpus", "4"),
    "vertex": ("--gpus", "4", "--image", "us-docker.pkg.dev/p/r/horovod:1"),
    "spark": ("--master", "spark://127.0.0.1:7077", "--instances", "2"),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_a_script_without_horovod_is_refused_before_anything_is_sent(launch: Launch, name: str):
    launch.write("train.py", ALONE)
    answer = launch(name, "train.py", *SEVERAL[name])
    assert answer.code == 2
    assert "train.py: it uses no Horovod" in answer.err
    assert "--strategy horovod" in answer.err
    assert launch("list").err.startswith("no jobs")


@pytest.mark.parametrize("name", SEVERAL)
def test_the_plan_shows_what_the_ranks_train_by(launch: Launch, name: str):
    launch.write("train.py", "import parts.model\n")
    launch.write("parts/model.py", HVD)
    answer = launch(name, "train.py", *SEVERAL[name], "--dry-run")
    assert answer.code == 0, answer.err
    assert "(parts/model.py:1 imports horovod.tensorflow)" in answer.err


@pytest.mark.parametrize("name", SEVERAL)
def test_the_users_word_lets_a_script_pass(launch: Launch, name: str):
    launch.write("train.py", SERVERS)
    refused = launch(name, "train.py", *SEVERAL[name], "--dry-run")
    assert (refused.code, "tf.distribute and no Horovod" in refused.err) == (2, True)
    passed = launch(name, "train.py", *SEVERAL[name], "--strategy", "horovod", "--dry-run")
    assert passed.code == 0, passed.err
    assert "(--strategy)" in passed.err


DDP = "import torch.distributed as dist\ndist.init_process_group('gloo')\n"


def test_a_python_without_what_the_strategy_needs_is_refused_with_both_fixes(launch: Launch):
    launch.write("train.py", DDP)
    answer = launch("local", "train.py", "--processes", "2", "--dry-run")
    assert (answer.code, "[local-no-library]" in answer.err) == (2, True), answer.err
    assert "has no PyTorch" in answer.err
    assert "--python PATH, or install it there: pip install torch" in answer.err


def test_a_name_that_there_is_not_is_asked_about(launch: Launch):
    launch.write("train.py", DDP)
    answer = launch("local", "train.py", "--strategy", "toch")
    assert (answer.code, "torch" in answer.err) == (2, True)


def test_one_rank_may_train_by_anything(launch: Launch):
    launch.write("train.py", SERVERS)
    answer = launch("local", "train.py", "--dry-run")
    assert (answer.code, "strategy" in answer.err.lower()) == (0, False)


def test_a_notebook_is_refused_with_the_line_that_makes_a_script_of_it(launch: Launch):
    launch.write("train.ipynb", json.dumps({"nbformat": 4, "cells": []}))
    answer = launch("local", "train.ipynb", "--processes", "2")
    assert answer.code == 2
    assert "jupyter nbconvert --to script train.ipynb" in answer.err


def test_launch_yaml_can_say_the_strategy(launch: Launch):
    launch.write("train.py", ALONE)
    launch.write("launch.yaml", "script: train.py\nprocesses: 2\nstrategy: horovod\n")
    assert launch("local", "--dry-run").code == 0


def test_check_and_rehearse_read_the_source_where_it_is_given(launch: Launch):
    launch.write("train.py", HVD)
    launch.write("job.json", launch("sagemaker", "train.py", "--gpus", "4", "--dry-run").out)
    launch.write("other/train.py", ALONE)
    assert launch("check", "job.json", "--source", ".").code == 0
    for verb in ("check", "rehearse"):
        answer = launch(verb, "job.json", "--source", "other")
        assert (answer.code, "it uses no Horovod" in answer.err) == (2, True), answer.err
    passed = launch("check", "job.json", "--source", "other", "--strategy", "horovod")
    assert passed.code == 0, passed.err


def test_a_source_that_is_not_there_is_told_whatever_the_document_says(launch: Launch):
    launch.write("train.py", HVD)
    launch.write("job.json", launch("sagemaker", "train.py", "--gpus", "4", "--dry-run").out)
    for verb in ("check", "rehearse"):
        answer = launch(verb, "job.json", "--source", "nowhere")
        assert (answer.code, "no such file or folder" in answer.err) == (2, True), answer.err


FOREIGN = {
    "sagemaker": {
        "TrainingJobName": "job",
        "HyperParameters": {
            "sagemaker_program": '"train.py"',
            "sagemaker_mpi_enabled": "true",
            "sagemaker_mpi_num_of_processes_per_host": "2",
        },
        "ResourceConfig": {"InstanceCount": 2},
    },
    "vertex": {
        "displayName": "job",
        "jobSpec": {
            "workerPoolSpecs": [
                {
                    "replicaCount": 1,
                    "containerSpec": {
                        "imageUri": "i",
                        "command": ["horovodrun", "-np", "4", "python", "/app/train.py"],
                    },
                }
            ]
        },
    },
}


@pytest.mark.parametrize("name", FOREIGN)
def test_of_a_document_that_is_not_ours_it_is_a_warning(launch: Launch, name: str):
    launch.write("train.py", ALONE)
    reader = provider(name).reader
    assert reader is not None
    found = reader.examine(FOREIGN[name])
    told = [one.rule for one in found.problems]

    def said() -> list[Problem]:
        ours = with_source(found, DocumentSource(str(launch.folder))).problems
        return [one for one in ours if one.rule not in told]

    (problem,) = said()
    assert (problem.severity, problem.rule) == ("warning", "strategy-none")
    launch.write("train.py", HVD)
    assert said() == []
