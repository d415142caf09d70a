"""The bundle in S3: under its hash, once, whole or not at all."""

from __future__ import annotations

import os
import signal
import tarfile
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.source.bundle import SourceBundle, scan
from launchers.sagemaker.service.session import Session
from launchers.sagemaker.service.upload import PART_BYTES, upload
from tests.core.source.trees import plant
from tests.fakes.faults import HANDLED, RESET, SLOW_DOWN, Drop, Refuse
from tests.fakes.sagemaker_service import SageMakerService
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.processes


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[SageMakerService]:
    with SageMakerService() as aws:
        for name, value in aws.environment().items():
            monkeypatch.setenv(name, value)
        yield aws


def bundle_in(folder: Path, size: int = 100) -> SourceBundle:
    """A source whose archive has about ``size`` bytes: random ones, which do not shrink."""
    return scan(
        plant(folder / "source", {"train.py": "x", "data.bin": os.urandom(size)}), ENTRYPOINTS
    )


def place_of(aws: SageMakerService, bundle: SourceBundle) -> str:
    return f"s3://{aws.bucket}/launch/code/{bundle.sha256}/sourcedir.tar.gz"


@pytest.mark.parametrize("size", [100, 2 * PART_BYTES + 5])
def test_what_arrives_is_the_bundle_and_a_second_time_nothing_is_sent(
    service: SageMakerService, tmp_path: Path, size: int
):
    bundle = bundle_in(tmp_path, size)
    seen: list[tuple[int, int]] = []
    place = place_of(service, bundle)
    assert upload(Session("us-east-1"), bundle, place, lambda *at: seen.append(at))
    stored = service.objects.get(place)
    assert stored is not None
    content = stored if isinstance(stored, bytes) else stored.read()
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        assert "src/train.py" in archive.getnames()
    assert seen[0][0] == 0
    assert seen[-1][0] == seen[-1][1] == len(content)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    service.forget_requests()
    assert not upload(Session("us-east-1"), bundle, place)
    assert [one.operation for one in service.requests] == ["HeadObject"]


@pytest.mark.parametrize("size", [100, 2 * PART_BYTES + 5])
def test_a_lost_connection_or_a_slow_down_is_tried_again(
    service: SageMakerService, tmp_path: Path, size: int
):
    bundle = bundle_in(tmp_path, size)
    for operation in ("PutObject", "UploadPart", "CompleteMultipartUpload"):
        service.faults.add(Drop(RESET), operation, times=1)
        service.faults.add(Refuse(SLOW_DOWN), operation, times=1)
        service.faults.add(Drop(RESET), operation, point=HANDLED, times=1)
    place = place_of(service, bundle)
    assert upload(Session("us-east-1"), bundle, place)
    assert service.objects.get(place) is not None


def test_an_upload_that_fails_leaves_no_object_and_no_parts(
    service: SageMakerService, tmp_path: Path
):
    bundle = bundle_in(tmp_path, 2 * PART_BYTES + 5)
    service.faults.add(Refuse(SLOW_DOWN), "UploadPart", after=1)
    with pytest.raises(LaunchError):
        upload(Session("us-east-1"), bundle, place_of(service, bundle))
    assert service.objects.get(place_of(service, bundle)) is None
    assert service.received("AbortMultipartUpload")


def test_an_interrupt_leaves_no_object_and_no_parts(service: SageMakerService, tmp_path: Path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    bundle = bundle_in(tmp_path, 2 * PART_BYTES + 5)
    place = place_of(service, bundle)

    def interrupt(done: int, total: int) -> None:
        if 0 < done < total:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    try:
        with pytest.raises(KeyboardInterrupt):
            upload(Session("us-east-1"), bundle, place, interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert service.objects.get(place) is None
    assert service.received("AbortMultipartUpload")


def test_parts_carry_checksums(service: SageMakerService, tmp_path: Path):
    bundle = bundle_in(tmp_path, 2 * PART_BYTES + 5)
    place = place_of(service, bundle)
    upload(Session("us-east-1"), bundle, place)
    head = (
        Session("us-east-1")
        .client("s3")
        .head_object(Bucket=service.bucket, Key=place.split("/", 3)[3], ChecksumMode="ENABLED")
    )
    assert head["ChecksumSHA256"].endswith("-3")
