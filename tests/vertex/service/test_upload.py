"""The bundle in Cloud Storage: under its hash, once, whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
import tempfile
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from launchers.core.model.problems import EXIT_PREFLIGHT, EXIT_PROVIDER, LaunchError
from launchers.core.source.bundle import SourceBundle, scan
from launchers.vertex.service.session import Session
from launchers.vertex.service.upload import PIECE_BYTES, upload
from tests.core.source.trees import plant
from tests.fakes.faults import HANDLED, READ, RESET, WAYS, Call, Drop, Refuse
from tests.fakes.google_wire import TOO_MANY_REQUESTS, UNAVAILABLE, refused
from tests.fakes.vertex_service import VertexService
from tests.fakes.wire import Request
from tests.places import ROOT
from tests.vertex.service.submitting import session_of

pytestmark = pytest.mark.processes

SMALL, LARGE = 100, 2 * PIECE_BYTES + 5
FORBIDDEN = refused("PERMISSION_DENIED", "does not have storage.objects.create access")


@pytest.fixture
def google() -> Iterator[VertexService]:
    with VertexService() as service:
        yield service


@pytest.fixture
def session(google: VertexService, monkeypatch: pytest.MonkeyPatch) -> Session:
    return session_of(google, monkeypatch)


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is tried at once."""
    at_once = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: None)
    monkeypatch.setattr("google.api_core.retry.retry_unary.time", at_once)
    monkeypatch.setattr("launchers.core.cloud.errors.time", at_once)


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go; nothing may be left there."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not list(folder.iterdir())


def bundle_in(folder: Path, size: int = SMALL) -> SourceBundle:
    """A source whose archive has about ``size`` bytes: random ones, which do not shrink."""
    files = {"train.py": "x", "data.bin": os.urandom(size)}
    return scan(plant(folder / "source", files), ROOT / "entrypoints")


def place_of(google: VertexService, bundle: SourceBundle) -> str:
    return f"gs://{google.bucket}/launch/code/{bundle.sha256}/sourcedir.tar.gz"


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_what_arrives_is_the_bundle_and_a_second_time_nothing_is_sent(
    google: VertexService, session: Session, tmp_path: Path, size: int
):
    bundle, seen = bundle_in(tmp_path, size), list[tuple[int, int]]()
    place = place_of(google, bundle)
    assert upload(session, bundle, place, lambda *at: seen.append(at))
    stored = google.objects.get(place)
    assert stored is not None
    content = stored.read()
    assert hashlib.sha256(gzip.decompress(content)).hexdigest() == bundle.sha256
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        assert {"agent.py", "src/train.py"} <= set(archive.getnames())
    assert seen[0] == (0, len(content))
    assert seen[-1] == (len(content), len(content))
    assert seen == sorted(seen)
    google.forget_requests()
    assert not upload(session, bundle, place)
    assert [one.operation for one in google.requests] == ["objects.get"]


def test_a_large_bundle_goes_in_pieces_and_replaces_nothing(
    google: VertexService, session: Session, tmp_path: Path
):
    bundle = bundle_in(tmp_path, LARGE)
    upload(session, bundle, place_of(google, bundle))
    assert len(google.received("objects.upload")) == 3
    (begun,) = google.received("objects.insert")
    assert "ifGenerationMatch=0" in begun.target


@pytest.mark.parametrize("point", [READ, HANDLED])
@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_lost_connections_a_slow_down_and_a_5xx_are_tried_again(
    google: VertexService, session: Session, tmp_path: Path, size: int, point: str
):
    bundle, seen = bundle_in(tmp_path, size), list[int]()
    for operation in ("objects.get", "objects.insert", "objects.upload"):
        google.faults.add(Drop(RESET), operation, point=point, times=1)
        google.faults.add(Refuse(TOO_MANY_REQUESTS), operation, times=1, after=1)
        google.faults.add(Refuse(UNAVAILABLE), operation, point=point, times=1, after=2)
    place = place_of(google, bundle)
    assert upload(session, bundle, place, lambda done, total: seen.append(done))
    stored = google.objects.get(place)
    assert stored is not None
    assert hashlib.sha256(gzip.decompress(stored.read())).hexdigest() == bundle.sha256
    assert seen == sorted(seen)
    assert seen[-1] == stored.size


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_that_is_lost_after_the_last_piece_makes_no_second_object(
    google: VertexService, session: Session, tmp_path: Path, way: str
):
    bundle = bundle_in(tmp_path)
    google.faults.add(Drop(way), "objects.insert", point=HANDLED, times=1)
    place = place_of(google, bundle)
    assert upload(session, bundle, place)
    assert google.objects.keys(f"gs://{google.bucket}/") == [place.split("/", 3)[3]]


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_an_upload_that_breaks_leaves_no_object(
    google: VertexService, session: Session, tmp_path: Path, size: int
):
    bundle, seen = bundle_in(tmp_path, size), list[tuple[int, int]]()
    google.faults.add(Refuse(FORBIDDEN), "objects.insert" if size == SMALL else "objects.upload",
                      after=int(size > SMALL))  # fmt: skip
    place = place_of(google, bundle)
    with pytest.raises(LaunchError, match="--bucket") as caught:
        upload(session, bundle, place, lambda *at: seen.append(at))
    assert caught.value.exit_code == EXIT_PROVIDER
    assert google.objects.keys(f"gs://{google.bucket}/") == []
    assert all(done < total for done, total in seen)
    google.faults.clear()
    assert upload(session, bundle, place)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_bytes_that_change_on_their_way_are_refused(
    google: VertexService, session: Session, tmp_path: Path, size: int
):
    def change(request: Request) -> None:
        middle = len(request.body) // 2
        flipped = bytes([request.body[middle] ^ 1])
        request.body = request.body[:middle] + flipped + request.body[middle + 1 :]

    bundle = bundle_in(tmp_path, size)
    google.faults.add(Call(change), "objects.insert" if size == SMALL else "objects.upload",
                      times=1)  # fmt: skip
    place = place_of(google, bundle)
    with pytest.raises(LaunchError, match="CRC32C"):
        upload(session, bundle, place)
    assert google.objects.get(place) is None


def test_somebody_who_was_quicker_is_no_error(
    google: VertexService, session: Session, tmp_path: Path
):
    bundle = bundle_in(tmp_path, LARGE)
    place = place_of(google, bundle)
    google.faults.add(Call(lambda _: google.objects.put(place, b"theirs")), "objects.insert")
    assert upload(session, bundle, place)
    stored = google.objects.get(place)
    assert stored is not None
    assert stored.read() == b"theirs"


def test_a_caller_who_may_write_and_not_read_can_upload(
    google: VertexService, session: Session, tmp_path: Path
):
    google.account.deny("storage.objects.get")
    bundle = bundle_in(tmp_path)
    place = place_of(google, bundle)
    for _ in range(2):
        assert upload(session, bundle, place)
    assert google.objects.get(place) is not None


def test_a_bucket_that_is_not_there_or_not_writable_is_a_refusal(
    google: VertexService, session: Session, tmp_path: Path
):
    bundle = bundle_in(tmp_path)
    with pytest.raises(LaunchError, match="does not exist") as caught:
        upload(session, bundle, place_of(google, bundle).replace(google.bucket, "nobodys"))
    assert caught.value.exit_code == EXIT_PROVIDER
    google.account.deny("storage.objects.create")
    with pytest.raises(LaunchError, match=r"storage\.objects\.create"):
        upload(session, bundle, place_of(google, bundle))
    assert not google.objects.keys(f"gs://{google.bucket}/")


def test_credentials_that_are_no_longer_good_are_told_as_such(
    google: VertexService, session: Session, tmp_path: Path
):
    bundle = bundle_in(tmp_path)
    session.caller()
    google.tokens.refusal = ("invalid_grant", "Invalid JWT Signature.")
    google.tokens.expire()
    with pytest.raises(LaunchError, match="credentials") as caught:
        upload(session, bundle, place_of(google, bundle))
    assert caught.value.exit_code == EXIT_PREFLIGHT


def test_a_source_that_changed_since_it_was_read_is_not_sent(
    google: VertexService, session: Session, tmp_path: Path
):
    bundle = bundle_in(tmp_path)
    (tmp_path / "source" / "train.py").write_text("y")
    with pytest.raises(LaunchError, match="changed"):
        upload(session, bundle, place_of(google, bundle))
    assert not google.received("objects.insert")
