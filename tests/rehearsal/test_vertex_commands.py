"""`launch vertex --dry-run=docker` and `launch rehearse` of a CustomJob, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from launchers.core.proof import NO_NONCE
from tests.cli.command import Launch
from tests.rehearsal.boxes import things_of
from tests.rehearsal.test_vertex_rehearsal import FOREIGN, INIT

pytestmark = [pytest.mark.docker, pytest.mark.horovod, pytest.mark.timeout(300)]

ASKED = ("vertex", "train.py", "--instances", "2", "--gpus", "4")
TELLS = (
    INIT
    + """
import json
print("seen", json.dumps([sys.argv[1:], {name: os.environ[name] for name in ("A", "B", "C")}]))
"""
)


def test_what_is_rehearsed_is_what_a_dry_run_prints_and_it_is_proven(
    launch: Launch, toolkit_image: str, client: Any
) -> None:
    launch.write("train.py", TELLS)
    values = {"A": "$(B) $$(C) $HOME #", "B": " \"b\" 'b' ", "C": "one\ntwo"}
    arguments = ["--name", "a b", "$(A)", "", "x\ny"]
    given = [word for name, value in values.items() for word in ("--env", f"{name}={value}")]
    asked = (*ASKED, "--image", toolkit_image, *given)
    printed = launch(*asked, "--dry-run", "--", *arguments)
    answer = launch(*asked, "--dry-run=docker", "--ranks-per-host", "1", "--json", "--", *arguments)
    assert answer.code == 0, answer.err
    result = answer.json
    assert (result["state"], result["world_size"]) == ("succeeded", 2)
    assert result["document_world_size"] == 8
    assert "rehearsed with 2 of 8 ranks" in answer.err
    consumed = Path(result["folder"], "document.json").read_text()
    assert consumed == printed.out, "what ran is what a dry run prints, byte for byte"
    seen = [line.partition("seen ")[2] for line in answer.err.splitlines() if "] seen " in line]
    assert [json.loads(line) for line in seen] == [[arguments, values]] * 2
    assert things_of(client, result["name"]) == []


def test_a_configuration_of_gclouds_is_proven(launch: Launch, toolkit_image: str) -> None:
    start = ["horovodrun", "-np", "2", "--gloo", "python3", "-c", FOREIGN]
    container = {"imageUri": toolkit_image, "command": start[:1], "args": start[1:]}
    pool = {
        "machineSpec": {"machineType": "n1-standard-8"},
        "replicaCount": 1,
        "containerSpec": container,
    }
    launch.write("config.yaml", yaml.safe_dump({"workerPoolSpecs": [pool]}))
    answer = launch("rehearse", "config.yaml", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["proof"] == f"world size 2: 1 host x 2 ranks, Gloo ({NO_NONCE})"


def test_a_secret_is_not_read_without_being_asked_for(launch: Launch, toolkit_image: str) -> None:
    launch.write("train.py", INIT)
    secret = "KEY=projects/my-project/secrets/wandb/versions/latest"
    asked = (*ASKED, "--image", toolkit_image, "--ranks-per-host", "1", "--secret", secret)
    answer = launch(*asked, "--dry-run=docker", "--json")
    assert answer.code == 1, answer.err
    assert "found none by projects/my-project/secrets/wandb" in answer.json["reason"]
    assert any("--with-credentials" in text for text in answer.json["deviations"])


def test_a_channel_is_refused_where_the_service_has_none(
    launch: Launch, toolkit_image: str
) -> None:
    launch.write("train.py", INIT)
    asked = (*ASKED, "--image", toolkit_image, "--local-channel", "train=.")
    answer = launch(*asked, "--dry-run=docker")
    assert answer.code == 2
    assert "--local-channel train=.: no channel train in the document" in answer.err
