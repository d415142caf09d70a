"""Images and scripts that serve no rank are told before any container of the job is made."""

from __future__ import annotations

import io
import struct
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.command import Launch
from tests.image.engine import own_tag
from tests.rehearsal.boxes import BASE, PROOF, Heard, box, run, things_of
from tests.rehearsal.requests import TELLS, foreign, rehearse, source

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("base")]

# The head of a program for arm64 (elf(5)): kind 2, machine 0xB7.
ARM = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 2, 0xB7, 1) + bytes(40)
JOB = "from-elsewhere"


@pytest.fixture
def tag() -> Iterator[tuple[Any, str]]:
    """A client, and a name for an image, gone afterwards."""
    with own_tag() as found:
        yield found


def make_image(client: Any, tag: str, **files: bytes) -> None:
    """An image of programs in /bin and nothing else."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"bin/{name}")
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    repository, _, label = tag.partition(":")
    client.api.import_image_from_data(stream.getvalue(), repository=repository, tag=label)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"file": b"x"}, "it has no program /bin/sh"),
        ({"sh": ARM}, "/bin/sh is neither a program for this machine"),
        (None, "no python3 and no python on PATH"),
    ],
    ids=["no shell", "another processor", "no Python"],
)
def test_an_image_in_which_nothing_runs_is_told_in_words_about_it(
    files: dict[str, bytes] | None, told: str, launch: Launch, tag: tuple[Any, str]
) -> None:
    client, image = tag
    if files is None:
        client.images.get(BASE).tag(*image.split(":"))
    else:
        make_image(client, image, **files)
    answer = rehearse(launch, foreign(image), "--source", str(source(launch, TELLS)))
    assert answer.code == 2
    assert told in answer.err
    assert "runc" not in answer.err
    assert "launch image" in answer.err
    assert things_of(client, JOB) == []


def test_an_image_without_what_the_toolkit_starts_ranks_by_is_refused(
    launch: Launch, torch_image: str, client: Any
) -> None:
    answer = rehearse(launch, foreign(torch_image), "--source", str(source(launch, TELLS)))
    assert answer.code == 2
    for part in ("Horovod", "mpirun", "sshd", "sagemaker-training"):
        assert f"{torch_image}: {part}" in answer.err
    assert answer.err.count(f"`launch image check {torch_image}` tells all") == 1
    assert things_of(client, JOB) == []


def test_a_script_that_cannot_be_read_never_reaches_a_container(
    launch: Launch, toolkit_image: str, client: Any
) -> None:
    folder = source(launch, f"{TELLS}if hvd.rank() = 0:\n    pass\n")
    line = TELLS.count("\n") + 1
    answer = rehearse(launch, foreign(toolkit_image), "--source", str(folder))
    assert answer.code == 2
    assert f"train.py:{line}: a syntax error" in answer.err, answer.err
    assert things_of(client, JOB) == []


def test_despite_its_problems_a_document_runs(launch: Launch, torch_image: str) -> None:
    document = foreign(torch_image)
    words = ("--source", str(source(launch, TELLS)), "--despite-problems")
    answer = rehearse(launch, document, *words)
    assert (answer.code, answer.json["state"]) == (1, "failed")
    assert f"{torch_image}: Horovod" in answer.err
    assert f"its image {torch_image} does not serve: it has no program train" in answer.err


@pytest.mark.usefixtures("home", "toolkit_image")
def test_ours_stands_in_for_an_image_that_cannot_be_pulled_and_it_is_said() -> None:
    heard = Heard()
    absent = "127.0.0.1:9/training:none"
    hosts = (box(1, PROOF, image=absent), box(2, "sleep 1000", image=absent))
    result = run(*hosts, heard=heard)
    assert result.state == "succeeded"
    (told,) = [text for text in heard.deviations if "(ours)" in text]
    assert told.startswith("image launch-horovod:")
    assert f"instead of {absent}: not on this machine, and its registry cannot be reached" in told
