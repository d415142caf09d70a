"""JAX's processes in containers of both clouds, in an image of `launch image build --with jax`."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launchers.image.names import WITH_LABEL
from tests.cli.command import Launch
from tests.entrypoints.strategies import jax_scripts as scripts
from tests.image import debian_torch
from tests.image.engine import own_tag
from tests.places import ROOT
from tests.rehearsal.requests import SMALL
from tests.sagemaker.released import installed

pytestmark = [
    pytest.mark.docker,
    pytest.mark.pip_network,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("jax-containers"),
]

TRAINED = (
    "world size 2: 2 hosts x 1 rank, Gloo; values reduced between all ranks by compiled programs"
)
# Where Debian's Python looks for what Debian did not install.
SITE = "usr/local/lib/python3.11/dist-packages"


@pytest.fixture(scope="module")
def jax_image(client: Any) -> Iterator[str]:
    """Over a base that has JAX: from our default base a build installs it for minutes."""
    with own_tag() as (_, base), own_tag() as (_, tag):
        client.images.build(fileobj=with_jax(), custom_context=True, tag=base, rm=True)
        words = ("image", "build", "--with", "jax", "--base", base, "--tag", tag)
        command = [sys.executable, "-m", "launchers.cli.main", *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        yield tag


def with_jax() -> io.BytesIO:
    """The context of an image: Debian's Python, and the packages that other tests of JAX run."""
    packages = installed(*scripts.PACKAGES, python=Path("/usr/bin/python3"))
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        dockerfile = f"FROM {debian_torch.TAG}\nCOPY packages /{SITE}\n".encode()
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(dockerfile)
        archive.addfile(entry, io.BytesIO(dockerfile))
        archive.add(packages, "packages")
    context.seek(0)
    return context


def test_the_image_has_what_jax_needs_and_two_of_its_ranks_meet(
    launch: Launch, jax_image: str, client: Any
) -> None:
    assert client.images.get(jax_image).labels[WITH_LABEL] == "jax"
    answer = launch("image", "check", jax_image, "--json")
    assert answer.code == 0, answer.err
    assert answer.json["strategy"] == "jax"


def test_sagemakers_containers_start_our_agent_for_processes_of_jax(
    launch: Launch, jax_image: str
) -> None:
    launch.write("train.py", scripts.TRAIN)
    answer = launch(
        "sagemaker", "train.py", *SMALL, "--image", jax_image, "--dry-run=docker", "--json"
    )
    assert answer.code == 0, answer.err
    assert answer.json["proof"] == TRAINED
    document = json.loads(Path(answer.json["folder"], "document.json").read_text())
    assert "ContainerEntrypoint" in document["AlgorithmSpecification"]
    assert document["Environment"]["LAUNCH_STRATEGY"] == "jax"


def test_vertex_ais_containers_run_a_step_over_all_processes(
    launch: Launch, jax_image: str
) -> None:
    launch.write("train.py", scripts.TRAIN)
    words = ("vertex", "train.py", "--instances", "2", "--gpus", "0", "--image", jax_image)
    answer = launch(*words, "--dry-run=docker", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["proof"] == TRAINED
