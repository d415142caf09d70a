"""Pictures and Parquet in Cloud Storage: pyarrow's own client, against the loopback service."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from entrypoints.lib.conversion import listing
from entrypoints.lib.data.division import Division
from entrypoints.lib.data.parquet_place import open_place
from entrypoints.lib.data.reader import PictureReader
from entrypoints.lib.errors import TrainingError
from tests.entrypoints.lib.conversion import places
from tests.entrypoints.lib.pictures import samples
from tests.fakes.google_apart import GoogleApart

pytestmark = pytest.mark.processes


class Bucket:
    """A bucket ``pictures`` of ours, and ``theirs`` of others."""

    def __init__(self, google: GoogleApart) -> None:
        self.do = google.do
        self.do("objects.add_bucket", "pictures")
        self.do("objects.add_bucket", "theirs", "us-central1", "somebody-elses")

    def put(self, folder: Path, name: str) -> None:
        for path in folder.rglob("*"):
            if path.is_file():
                at = path.relative_to(folder).as_posix()
                self.do("objects.put", f"gs://pictures/{name}/{at}", path.read_bytes())

    def names(self, name: str) -> list[str]:
        start = f"gs://pictures/{name}/"
        found = self.do("objects.keys", start)
        return [one[len(name) + 1 :] for one in found]

    def get(self, name: str, folder: Path) -> Path:
        for one in self.names(name):
            path = folder / one
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.do("objects.get", f"gs://pictures/{name}/{one}").read())
        return folder


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with contextlib.closing(GoogleApart()) as google, pytest.MonkeyPatch.context() as patch:
        for name, value in google.do("environment").items():
            patch.setenv(name, value)
        yield Bucket(google)


@pytest.fixture
def denied(bucket: Bucket) -> Iterator[Bucket]:
    """The bucket, of an account that gets its rights back at the end."""
    yield bucket
    bucket.do("account.caller.denied.clear")


def refusal(place: str) -> str:
    with pytest.raises(TrainingError) as raised:
        open_place(place)
    return str(raised.value)


def test_a_bucket_gives_the_same_files_as_a_folder_also_after_a_kill(
    bucket: Bucket, tmp_path: Path
) -> None:
    images = places.make_pictures(tmp_path / "images", 10)
    (images / "cat" / "bad.jpg").write_bytes(b"bad")
    bucket.put(images, "images")
    source, place = "gs://pictures/images", "gs://pictures/out"
    with pytest.raises(KeyboardInterrupt):
        places.convert(source, place, *places.FULL, engine=places.Here(stop_after=4))
    bucket.do("objects.put", f"{place}/_conversion/unfinished-1-killed", b"half")
    assert "a conversion that is not finished" in refusal(place)
    assert "a conversion that is not finished" in refusal(f"{place}/train")

    said = places.convert(source, place, *places.FULL)
    assert said.of("start")[0]["tasks_done"] == 4
    places.convert(images, tmp_path / "local", *places.FULL)
    remote = places.files(bucket.get("out", tmp_path / "remote"))
    local = places.files(tmp_path / "local")
    assert places.manifest(tmp_path / "remote").made["source"] == source
    del remote["manifest.json"], local["manifest.json"]  # they name their sources
    assert remote == local
    assert not places.convert(source, place, *places.FULL).result["made"]
    with pytest.raises(TrainingError, match="another conversion was finished there"):
        places.convert(source, place, *places.SPLIT)


@pytest.mark.parametrize(
    ("engine", "workers"), [("dask", "--workers=2"), ("spark", "--master=local[2]")]
)
def test_the_workers_of_another_engine_read_and_write_the_bucket(
    bucket: Bucket, engine: str, workers: str, tmp_path: Path
) -> None:
    images = places.make_pictures(tmp_path / "images", 8)
    bucket.put(images, f"for-{engine}")
    source, out = f"gs://pictures/for-{engine}", f"gs://pictures/by-{engine}"
    done = places.program(source, out, *places.FULL, "--engine", engine, workers)
    assert places.events_of(done).result["made"]

    places.convert(source, tmp_path / "here", *places.FULL)
    by_workers = places.files(bucket.get(f"by-{engine}", tmp_path / "workers"))
    assert by_workers == places.files(tmp_path / "here")


def test_where_spark_knows_the_store_its_executors_read_by_it(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["0000.jpg", "_hadoop_leaves_it_out.jpg", "one [2] of%20them.jpg"]
    in_bucket, by_spark = tmp_path / "in bucket", tmp_path / "by spark"
    for number, folder in enumerate((in_bucket, by_spark)):
        for name in ("cat/0000.jpg", *(f"dog/{name}" for name in names)):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(samples.jpeg(32, 32 + number, seed=number))
    bucket.put(in_bucket, "known")
    # Hadoop's own file system that gives gs:// from somewhere else, here other pictures.
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.hadoop.fs.gs.impl org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme\n"
        f"spark.hadoop.fs.viewfs.mounttable.pictures.link./known {by_spark.as_uri()}\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    done = places.program(
        "gs://pictures/known", tmp_path / "out", "--engine", "spark", "--master=local[2]"
    )
    assert places.events_of(done).result["made"]

    expected = {f"dog/{name}": (by_spark / "dog" / name).read_bytes() for name in names}
    expected["cat/0000.jpg"] = (by_spark / "cat" / "0000.jpg").read_bytes()
    expected[f"dog/{names[1]}"] = (in_bucket / "dog" / names[1]).read_bytes()
    found = {row["path"]: row["content"] for row in places.rows(tmp_path / "out", "train")}
    assert found == expected


def batches(place: str) -> list[tuple[list[bytes], list[int]]]:
    """What one rank reads in an epoch."""
    reader = PictureReader(open_place(place), Division(ranks=1, batch_size=3), rank=0, seed=13)
    return [(list(one.content), one.labels.tolist()) for one in reader.batches(epochs=1)]


def test_the_reader_gives_the_rows_of_a_folder(bucket: Bucket, tmp_path: Path) -> None:
    images = places.make_pictures(tmp_path / "images", 10)
    for place in ("gs://pictures/read", str(tmp_path / "local")):
        places.convert(images, place, "--rows-per-group", "2")
    assert batches("gs://pictures/read") == batches(str(tmp_path / "local"))
    assert batches("gs://pictures/read/train") == batches("gs://pictures/read") != []


def test_folders_are_classes_and_foreign_ones_are_seen_as_in_a_folder(
    bucket: Bucket, tmp_path: Path
) -> None:
    images = places.make_pictures(tmp_path / "images", 4)
    (images / "ant").mkdir()
    (images / "ant" / "notes.txt").write_text("no picture")
    (images / "zebra").mkdir()
    bucket.put(images, "animals")
    bucket.do("objects.put", "gs://pictures/animals/zebra/", b"")  # as the console makes a folder
    assert listing.listed("gs://pictures/animals") == listing.listed(str(images))
    with pytest.raises(TrainingError, match=r"gs://pictures/animals: has ant in it and no man"):
        places.convert(images, "gs://pictures/animals")


@pytest.mark.parametrize("bucket_name", ["nobodys", "theirs"])
def test_a_bucket_that_is_not_there_or_not_ours_is_one_line(
    bucket: Bucket, bucket_name: str, tmp_path: Path
) -> None:
    images = places.make_pictures(tmp_path / "images", 2)
    address = f"gs://{bucket_name}/place"
    said = [refusal(address)]
    for source, place in ((address, tmp_path / "out"), (images, address)):
        with pytest.raises(TrainingError) as raised:
            places.convert(source, place)
        said.append(str(raised.value))
    why = {"nobodys": "The specified bucket does not exist", "theirs": "Permission 'storage."}
    for line in said:
        assert line.startswith(address)
        assert why[bucket_name] in line
        assert "google::" not in line
        assert "\n" not in line


@pytest.mark.parametrize(
    "permission", ["storage.objects.create", "storage.objects.delete", "storage.objects.get"]
)
def test_a_right_that_is_lacking_is_named(denied: Bucket, permission: str, tmp_path: Path) -> None:
    images = places.make_pictures(tmp_path / "images", 2)
    denied.do("account.deny", permission)
    with pytest.raises(TrainingError, match=f"Permission '{permission}' denied") as raised:
        places.convert(images, f"gs://pictures/{permission}")
    assert "google::" not in str(raised.value)
    denied.do("account.caller.denied.clear")
    places.convert(images, f"gs://pictures/{permission}")
    assert denied.names(permission) == ["manifest.json", "train/part-00000.parquet"]


def test_credentials_that_are_not_there_are_one_line(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json")
    line = refusal("gs://another/place")
    assert "no credentials for Google Cloud (Cannot open credentials file /nowhere.json" in line
    assert "gcloud auth application-default login" in line
    assert "\n" not in line
