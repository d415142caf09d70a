"""Building with the real engine, from small recipes on the base image."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import uuid
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_JOB_DID_NOT_SUCCEED, LaunchError
from launchers.image import names
from launchers.image.build import BuildRequest, build
from launchers.image.host_settings import HostSettings
from launchers.image.recipes import recipe_digest
from tests.cli.command import Launch
from tests.image import debian_torch
from tests.image.engine import LABEL, own_tag
from tests.image.told import NOTHING_OF_THE_HOST, Told
from tests.places import ROOT
from tests.waiting import until

pytestmark = pytest.mark.docker

# What must not be found in a built image.
MARK = b"mark-of-this-machine"
HOST = HostSettings(
    f"[global]\nindex-url = https://{MARK.decode()}/simple\n",
    MARK,
    {"HTTP_PROXY": f"http://me:word@{MARK.decode()}:1"},
    None,
    (),
)
# An image whose python3 answers the probe; what the engine keeps of it can be found again.
PROBE = f"""\
LABEL {LABEL}=1
# step: A program for the probe
RUN printf '%s\\n' '#!/bin/sh' "echo 'LAUNCH-PROBE {{\\"python\\": \\"9.9\\"}}'" \\
    > /usr/bin/python3 && chmod +x /usr/bin/python3
"""
RECIPE = f"""\
ARG BASE
FROM ${{BASE}} AS build
LABEL {LABEL}=1
COPY host/ /host/
# step: Use what the host gave
RUN grep -q mark /host/pip.conf && grep -q mark /host/ca.pem \\
    && echo $HTTP_PROXY | grep -q mark && mkdir /made && echo built > /made/file
FROM ${{BASE}}
COPY --from=build /made /made
{PROBE}"""


def recipe(folder: Path, text: str) -> Path:
    (folder / "Dockerfile").write_text(text)
    return folder


def saved(client: Any, tag: str) -> bytes:
    """Everything of an image: layers, configuration and history."""
    return b"".join(client.images.get(tag).save())


def test_the_hosts_settings_reach_the_build_and_stay_out_of_the_image(tmp_path: Path) -> None:
    with own_tag() as (client, tag):
        told = Told()

        built = build(client, BuildRequest(tag=tag), HOST, told, recipe(tmp_path, RECIPE))

        assert told.steps[:2] == ["1/2 Use what the host gave", "2/2 A program for the probe"]
        assert built.versions == {"python": "9.9"}
        assert built.size > 10**7
        everything = saved(client, tag)
        assert MARK not in everything
        with tarfile.open(fileobj=io.BytesIO(everything)) as archive:
            layers = [entry.name for entry in archive if entry.name.endswith("layer.tar")]
            manifest = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]
        assert len(manifest[0]["Layers"]) == len(layers) == 3
        assert client.images.get(tag).labels[names.RECIPE_LABEL] == recipe_digest(tmp_path)


def test_a_second_build_takes_every_layer_from_the_first(tmp_path: Path) -> None:
    with own_tag() as (client, tag):
        first = build(client, BuildRequest(tag=tag), HOST, Told(), recipe(tmp_path, RECIPE))
        second = build(client, BuildRequest(tag=tag), HOST, Told(), tmp_path)

    assert second.cached
    assert second.id == first.id


def test_a_failing_step_is_named_and_its_last_lines_are_told(tmp_path: Path) -> None:
    text = "ARG BASE\nFROM ${BASE}\n# step: Count\nRUN seq 1 50 && ls /nowhere 2>&1\n"
    with own_tag() as (client, tag):
        before = {container.id for container in client.containers.list(all=True)}
        told = Told()

        with pytest.raises(LaunchError) as caught:
            build(client, BuildRequest(tag=tag), NOTHING_OF_THE_HOST, told, recipe(tmp_path, text))

        assert caught.value.exit_code == EXIT_JOB_DID_NOT_SUCCEED
        assert caught.value.problems[0].path == "image build, step 3/3: Count"
        assert len(told.kept) == 20
        assert told.kept[0] == "  | 32"
        assert "/nowhere" in told.kept[-1]
        left = {item.id for item in client.containers.list(all=True, filters={"status": "exited"})}
        assert left <= before


def test_a_dockerfile_that_the_engine_does_not_take_is_a_message(tmp_path: Path) -> None:
    with own_tag() as (client, tag), pytest.raises(LaunchError) as caught:
        build(client, BuildRequest(tag=tag), HOST, Told(), recipe(tmp_path, "ARG BASE\nFORM x\n"))

    assert "FORM" in str(caught.value)


def test_a_base_that_cannot_be_had_is_told_with_the_ways_on(launch: Launch) -> None:
    answer = launch("image", "build", "--base", "127.0.0.1:1/no/such:image")

    assert answer.code == EXIT_BAD_REQUEST
    assert "127.0.0.1:1/no/such:image is not on this machine" in answer.err
    assert answer.out == ""


def test_the_gpu_variant_says_that_it_was_not_built_by_us(launch: Launch) -> None:
    answer = launch("image", "build", "--gpu", "--base", "127.0.0.1:1/no/such:image")

    assert "the GPU variant has not been built or tried by us" in answer.err


def test_our_own_image_is_found_by_its_label_and_only_where_it_has_a_name(tmp_path: Path) -> None:
    with own_tag() as (client, tag):
        text = f"ARG BASE\nFROM ${{BASE}}\nLABEL {names.GPU_LABEL}=1\n{PROBE}"
        before = names.default_image(client, gpu=True)

        build(client, BuildRequest(tag=tag), HOST, Told(), recipe(tmp_path, text))

        assert names.default_image(client, gpu=True) == (before or tag)
        assert names.default_image(client) != tag
        client.images.remove(tag)
        assert names.default_image(client, gpu=True) == before


def test_a_base_that_has_the_framework_is_used_as_it_is(launch: Launch) -> None:
    with own_tag() as (client, tag):
        asked = ("image", "build", "--with", "torch", "--base", debian_torch.TAG, "--tag", tag)
        answer = launch(*asked)

        assert answer.code == 0, answer.err
        versions = answer.err.partition(f"{tag}: ")[2]
        assert "torch 1.13" in versions
        assert "tensorflow" not in versions
        built = client.images.get(tag)
        assert built.labels[names.WITH_LABEL] == "torch"
        assert built.attrs["Size"] < client.images.get(debian_torch.TAG).attrs["Size"] + 10**6
        assert names.default_image(client, recipe="torch")
        assert names.default_image(client) != tag, "the images with Horovod are others"


def test_an_interrupted_build_ends_in_the_engine_too(tmp_path: Path) -> None:
    # A step of its own each time, which no earlier build left in the engine's cache.
    step = f"echo begun {uuid.uuid4().hex} && sleep 600"
    recipe(tmp_path, f"ARG BASE\nFROM ${{BASE}}\n# step: Wait\nRUN {step}\n")
    program = (
        "import pathlib, sys; from launchers.cli.show.progress import LiveProgress;"
        "from launchers.docker import engine; from launchers.image import build as image_build;"
        "from tests.image.told import NOTHING_OF_THE_HOST as nothing\n"
        "with LiveProgress() as told: image_build.build(engine.engine(),"
        " image_build.BuildRequest(tag=sys.argv[1]), nothing, told, pathlib.Path(sys.argv[2]))"
    )
    with own_tag() as (client, tag):

        def waiting() -> list[Any]:
            return [
                item
                for item in client.containers.list()
                if item.attrs["Config"]["Cmd"][-1:] == [step]
            ]

        process = subprocess.Popen(
            [sys.executable, "-c", program, tag, str(tmp_path)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        try:
            until(waiting, "the step waits")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)

        until(lambda: not waiting(), "the end of the step")
