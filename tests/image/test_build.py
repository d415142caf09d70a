"""Building with the real engine, from small recipes on the base image."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from docker.models.images import Image

from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_JOB_DID_NOT_SUCCEED, LaunchError
from launchers.core.paths import images_folder
from launchers.docker.images import images_of
from launchers.image import names
from launchers.image.base_image import CPU_BASE
from launchers.image.build import BuildRequest, build
from launchers.image.host_settings import HostSettings
from launchers.image.recipes import SPARK, recipe_digest
from launchers.image.sbom import IN_IMAGE, save_sbom
from tests.cli.command import Launch
from tests.image import debian_torch
from tests.image.engine import LABEL, derived_image, own_tag, tiny_image
from tests.image.told import NOTHING_OF_THE_HOST, Told
from tests.places import ROOT
from tests.refusals import refused
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


def test_layers_over_our_image_ask_for_it_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "version", lambda: "0.0-nobody-built-this")
    (tmp_path / "spark").mkdir()
    recipe(tmp_path / "spark", RECIPE)
    with own_tag() as (client, tag), pytest.raises(LaunchError) as caught:
        build(client, BuildRequest(tag=tag, recipe=SPARK), HOST, Told(), tmp_path)

    (problem,) = caught.value.problems
    assert problem.rule == "image-base-missing"
    assert "launch-horovod:0.0-nobody-built-this" in problem.found
    assert "build it first: `launch image build`" in problem.fix


def staged(mark: str) -> str:
    """A recipe of two stages, whose images are known by the label of the mark."""
    stage = f"LABEL {names.STAGE_LABEL}=build launch.test.mark={mark}"
    # Without the label by which other tests clean up.
    return RECIPE.replace(f"LABEL {LABEL}=1", stage, 1)


def stages(client: Any, mark: str) -> list[Any]:
    found: list[Any] = client.images.list(filters={"label": f"launch.test.mark={mark}"})
    return found


def test_a_build_leaves_no_stage_and_is_not_made_twice(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    with own_tag() as (client, tag):
        first = build(client, BuildRequest(tag=tag), HOST, Told(), recipe(tmp_path, staged(mark)))
        left = stages(client, mark)
        told = Told()
        second = build(client, BuildRequest(tag=tag), HOST, told, tmp_path)

    assert left == []
    assert 0 < first.freed < 10**7, "the base stays"
    assert second.cached
    assert second.id == first.id
    assert told.steps == ["Check the contents"]


def test_the_same_under_another_name_is_the_same_image(tmp_path: Path) -> None:
    with own_tag() as (client, tag), own_tag() as (_, other), own_tag() as (_, derived):
        request = BuildRequest(tag=tag)
        first = build(client, request, HOST, Told(), recipe(tmp_path, staged(uuid.uuid4().hex)))
        derived_image(client, derived, tag, "touch /more")
        second = build(client, BuildRequest(tag=other), HOST, Told(), tmp_path)
        # What somebody made of ours has our labels, and is not ours.
        client.images.get(derived).tag(tag)
        third = build(client, request, HOST, Told(), tmp_path)

    assert (second.id, second.cached) == (third.id, third.cached) == (first.id, True)


def test_a_stage_that_is_kept_serves_the_next_build_which_replaces_the_image(
    tmp_path: Path,
) -> None:
    mark = uuid.uuid4().hex
    with own_tag() as (client, tag):
        keeps = BuildRequest(tag=tag, keeps_stage=True)
        first = build(client, keeps, HOST, Told(), recipe(tmp_path, staged(mark)))
        (kept,) = stages(client, mark)
        changed = f"{staged(mark)}LABEL more=1\n"
        second = build(client, keeps, HOST, Told(), recipe(tmp_path, changed))
        stayed = stages(client, mark)
        anew = build(
            client, replace(keeps, is_anew=True, keeps_stage=False), HOST, Told(), tmp_path
        )
        held = {image.id for image in images_of(client)}
        client.images.prune(filters={"dangling": True, "label": f"launch.test.mark={mark}"})

    assert second.cached is False
    assert [image.id for image in stayed] == [kept.id], "every layer of it was there"
    assert len({first.id, second.id, anew.id}) == 3
    assert held & {first.id, second.id} == set(), "no image without a name is left"


def test_an_image_that_had_the_name_and_is_not_ours_stays(tmp_path: Path) -> None:
    with own_tag() as (client, tag):
        tiny_image(client, tag)
        before = client.images.get(tag).id
        build(client, BuildRequest(tag=tag), HOST, Told(), recipe(tmp_path, RECIPE))
        try:
            assert client.images.get(before).tags == []
        finally:
            client.images.remove(before)


def test_the_same_under_another_name_may_be_removed_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = Image.history

    def removed_then(image: Image) -> Any:
        image.client.images.remove(image.id, force=True)
        return history(image)

    with own_tag() as (client, tag), own_tag() as (_, other):
        recipe(tmp_path, staged(uuid.uuid4().hex))
        build(client, BuildRequest(tag=tag), HOST, Told(), tmp_path)
        monkeypatch.setattr(Image, "history", removed_then)
        second = build(client, BuildRequest(tag=other), HOST, Told(), tmp_path)

        assert not second.cached
        assert client.images.get(other).id == second.id


class CacheClearedMeanwhile:
    """The engine's builds, of which the first so many end as when what they stand on is removed."""

    def __init__(self, client: Any, times: int, gone: str):
        self._build, self.left, self.gone = client.api.build, times, gone

    def __call__(self, **options: Any) -> Any:
        self.left -= 1
        return iter([{"error": self.gone}]) if self.left >= 0 else self._build(**options)


@pytest.mark.parametrize(
    ("times", "gone"),
    [
        (1, "failed to export image: failed to set parent x: unknown parent image ID x"),
        (1, "invalid from flag value build: No such image: sha256:x"),
        (3, "failed to export image: failed to set parent x: unknown parent image ID x"),
    ],
)
def test_what_another_build_removed_meanwhile_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, gone: str
) -> None:
    with own_tag() as (client, tag):
        monkeypatch.setattr(client.api, "build", CacheClearedMeanwhile(client, times, gone))
        told = Told()
        parts = (client, BuildRequest(tag=tag), HOST, told, recipe(tmp_path, RECIPE))
        if times == 1:
            assert client.images.get(build(*parts).tag)
        else:
            with refused("image-build-refused", "unknown parent image ID x, 3 times"):
                build(*parts)

    assert told.kept[0].startswith("what the build stood on was removed meanwhile")


def test_an_image_says_by_its_labels_what_it_is_and_begins_with(tmp_path: Path) -> None:
    with own_tag() as (client, tag):
        build(client, BuildRequest(tag=tag), HOST, Told(), recipe(tmp_path, RECIPE))
        labels = client.images.get(tag).labels
        base = client.images.get(CPU_BASE)

    oci = "org.opencontainers.image."
    assert labels[f"{oci}title"] == "launch-horovod"
    assert labels[f"{oci}version"] == names.version()
    assert labels[f"{oci}base.name"] == CPU_BASE
    assert labels[f"{names.RECIPE_LABEL}.base"] == base.id
    # One that came from no registry has no digest there.
    assert (f"{oci}base.digest" in labels) is bool(base.attrs["RepoDigests"])


def test_the_bill_of_materials_is_taken_out_of_the_image(launch: Launch, tmp_path: Path) -> None:
    shutil.copytree(images_folder() / "sbom", tmp_path / "sbom")
    write = f"COPY sbom/ /opt/launch/\nRUN echo '{{\"components\": [1, 2]}}' > {IN_IMAGE}\n"
    with own_tag() as (client, tag):
        build(client, BuildRequest(tag=tag), HOST, Told(), recipe(tmp_path, RECIPE + write))
        count = save_sbom(client, tag, tmp_path / "bill.json")
        with refused("image-sbom-file"):
            save_sbom(client, tag, tmp_path / "no" / "bill.json")
        with refused("image-no-sbom"):
            save_sbom(client, CPU_BASE, tmp_path / "bill.json")
        left = client.containers.list(all=True, filters={"ancestor": tag})

    assert count == 2
    assert json.loads((tmp_path / "bill.json").read_text()) == {"components": [1, 2]}
    assert left == []


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
                for item in client.containers.list(ignore_removed=True)
                if (item.attrs["Config"]["Cmd"] or [])[-1:] == [step]
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
