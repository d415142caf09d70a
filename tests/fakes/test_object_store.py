"""The fake S3 takes what boto3 uploads, whole or not at all, and checks it as S3 does."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from tests.fakes import s3_checksums
from tests.fakes.aws_clients import client
from tests.fakes.sagemaker_service import SageMakerService

MIB = 1 << 20
DATA = bytes(range(256)) * 4 * 1024  # 1 MiB


@pytest.fixture
def aws() -> Iterator[SageMakerService]:
    with SageMakerService() as service:
        yield service


@pytest.fixture
def s3(aws: SageMakerService) -> Any:
    return client(aws, "s3")


def sha256(data: bytes) -> str:
    return base64.b64encode(hashlib.sha256(data).digest()).decode()


def code_of(error: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


@pytest.mark.parametrize("key", ["a", "a/b c", "ä+?&=%/ü", "a//b", "trailing/"])
def test_an_object_comes_back_as_it_went(aws: SageMakerService, s3: Any, key: str) -> None:
    s3.put_object(Bucket=aws.bucket, Key=key, Body=DATA, Metadata={"sum": "1"})

    got = s3.get_object(Bucket=aws.bucket, Key=key)
    assert got["Body"].read() == DATA
    assert got["ContentLength"] == len(DATA)
    assert got["Metadata"] == {"sum": "1"}
    assert got["ETag"] == f'"{hashlib.md5(DATA).hexdigest()}"'
    listed = s3.list_objects_v2(Bucket=aws.bucket)["Contents"]
    assert [one["Key"] for one in listed] == [key]


@pytest.mark.parametrize("algorithm", ["SHA256", "CRC32", "SHA1"])
def test_a_checksum_is_checked_kept_and_told_when_it_is_asked_for(
    aws: SageMakerService, s3: Any, algorithm: str
) -> None:
    s3.put_object(Bucket=aws.bucket, Key="key", Body=DATA, ChecksumAlgorithm=algorithm)

    told = s3.head_object(Bucket=aws.bucket, Key="key", ChecksumMode="ENABLED")
    assert told[f"Checksum{algorithm}"] == s3_checksums.of(algorithm.lower(), DATA)
    assert told["ChecksumType"] == "FULL_OBJECT"
    assert f"Checksum{algorithm}" not in s3.head_object(Bucket=aws.bucket, Key="key")


@pytest.mark.parametrize(
    "wrong",
    [
        {"ChecksumSHA256": sha256(b"other")},
        {"ChecksumCRC32": "AAAAAA=="},
        {"ContentMD5": base64.b64encode(hashlib.md5(b"other").digest()).decode()},
    ],
)
def test_a_body_with_another_checksum_is_not_kept(
    aws: SageMakerService, s3: Any, wrong: dict[str, str]
) -> None:
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=aws.bucket, Key="key", Body=DATA, **wrong)

    assert code_of(error) == ("BadDigest", 400)
    assert aws.objects.get(f"s3://{aws.bucket}/key") is None


def test_only_the_first_of_many_conditional_puts_is_kept(aws: SageMakerService, s3: Any) -> None:
    def attempt(number: int) -> str:
        try:
            s3.put_object(Bucket=aws.bucket, Key="key", Body=b"%d" % number, IfNoneMatch="*")
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return "kept"

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(attempt, range(24)))

    assert answers.count("kept") == 1
    assert answers.count("PreconditionFailed") == 23


def test_what_is_not_there_is_a_404(aws: SageMakerService, s3: Any) -> None:
    with pytest.raises(ClientError) as error:
        s3.head_object(Bucket=aws.bucket, Key="none")
    assert code_of(error) == ("404", 404)
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=aws.bucket, Key="none")
    assert code_of(error) == ("NoSuchKey", 404)
    with pytest.raises(ClientError) as error:
        s3.head_bucket(Bucket="nobody-has-this")
    assert code_of(error) == ("404", 404)


def test_a_bucket_of_another_account_is_forbidden(aws: SageMakerService, s3: Any) -> None:
    aws.objects.add_bucket("theirs", owner="999999999999")

    with pytest.raises(ClientError) as error:
        s3.head_bucket(Bucket="theirs")
    assert code_of(error) == ("403", 403)
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=aws.bucket, Key="k", Body=b"", ExpectedBucketOwner="999999999999")
    assert code_of(error) == ("AccessDenied", 403)


def test_a_bucket_says_its_region(aws: SageMakerService, s3: Any) -> None:
    assert s3.head_bucket(Bucket=aws.bucket)["BucketRegion"] == "us-east-1"


def test_a_bucket_in_another_region_is_found_by_following_it(
    aws: SageMakerService, s3: Any
) -> None:
    aws.objects.add_bucket("far", "eu-west-1")

    told = s3.head_bucket(Bucket="far")

    assert told["BucketRegion"] == "eu-west-1"
    regions = [one.region for one in aws.received("HeadBucket")]
    # botocore asks where it was told to go first, and follows the answer.
    assert regions[0] == "us-east-1"
    assert regions[-1] == "eu-west-1"
    assert aws.received("HeadBucket")[0].status == 301


def test_a_bucket_is_created_once(aws: SageMakerService) -> None:
    s3 = client(aws, "s3", region="eu-west-1")
    aws.objects.add_bucket("theirs", "eu-west-1", owner="999999999999")
    place = {"CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}}

    s3.create_bucket(Bucket="ours-1", **place)
    assert aws.objects.buckets["ours-1"].region == "eu-west-1"
    for name, how, code in (
        ("ours-1", place, "BucketAlreadyOwnedByYou"),
        ("theirs", place, "BucketAlreadyExists"),
        ("ours-2", {}, "IllegalLocationConstraintException"),
        ("Ours_3", place, "InvalidBucketName"),
    ):
        with pytest.raises(ClientError) as error:
            s3.create_bucket(Bucket=name, **how)
        assert error.value.response["Error"]["Code"] == code


def test_a_bucket_keeps_its_settings(aws: SageMakerService, s3: Any) -> None:
    blocked = {"BlockPublicAcls": True, "IgnorePublicAcls": True}
    s3.put_public_access_block(Bucket=aws.bucket, PublicAccessBlockConfiguration=blocked)

    told = s3.get_public_access_block(Bucket=aws.bucket)["PublicAccessBlockConfiguration"]
    assert told["BlockPublicAcls"] is True
    with pytest.raises(ClientError, match="NoSuchConfiguration"):
        s3.get_bucket_encryption(Bucket=aws.bucket)


def test_objects_are_listed_in_pages_and_by_folder(aws: SageMakerService, s3: Any) -> None:
    for key in [f"a/{number:03d}" for number in range(25)] + ["a/x/1", "a/x/2", "b"]:
        aws.objects.put(f"s3://{aws.bucket}/{key}", b"x")
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket=aws.bucket, Prefix="a/", Delimiter="/", PaginationConfig={"PageSize": 7}
    )

    listed, folders = [], []
    for page in pages:
        assert len(page.get("Contents", [])) + len(page.get("CommonPrefixes", [])) <= 7
        listed += [one["Key"] for one in page.get("Contents", [])]
        folders += [one["Prefix"] for one in page.get("CommonPrefixes", [])]
    assert listed == [f"a/{number:03d}" for number in range(25)]
    assert folders == ["a/x/"]


@pytest.mark.parametrize(
    ("wanted", "first", "last"),
    [("bytes=0-9", 0, 9), ("bytes=10-", 10, 99), ("bytes=-5", 95, 99), ("bytes=90-500", 90, 99)],
)
def test_a_range_is_given(
    aws: SageMakerService, s3: Any, wanted: str, first: int, last: int
) -> None:
    data = bytes(range(100))
    aws.objects.put(f"s3://{aws.bucket}/key", data)

    got = s3.get_object(Bucket=aws.bucket, Key="key", Range=wanted)

    assert got["Body"].read() == data[first : last + 1]
    assert got["ContentRange"] == f"bytes {first}-{last}/100"


@pytest.mark.parametrize("algorithm", ["SHA256", "CRC32"])
def test_boto3_uploads_a_large_file_in_parts(
    aws: SageMakerService, s3: Any, algorithm: str
) -> None:
    data = DATA * 12
    s3.upload_fileobj(
        io.BytesIO(data),
        aws.bucket,
        "large",
        ExtraArgs={"ChecksumAlgorithm": algorithm},
        Config=TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB),
    )

    assert len(aws.received("UploadPart")) == 3
    stored = aws.objects.get(f"s3://{aws.bucket}/large")
    assert stored
    assert stored.read() == data
    assert stored.etag.endswith("-3")
    told = s3.head_object(Bucket=aws.bucket, Key="large", ChecksumMode="ENABLED")
    parts = [data[start : start + 5 * MIB] for start in range(0, len(data), 5 * MIB)]
    sums = [s3_checksums.of(algorithm.lower(), part) or "" for part in parts]
    assert told[f"Checksum{algorithm}"] == s3_checksums.of_parts(algorithm.lower(), sums)
    assert told["ChecksumType"] == "COMPOSITE"
    assert not aws.objects.buckets[aws.bucket].uploads

    into = io.BytesIO()
    s3.download_fileobj(aws.bucket, "large", into, Config=TransferConfig(5 * MIB))
    assert into.getvalue() == data


class Parts:
    """An upload that a test makes part by part."""

    def __init__(self, aws: SageMakerService, s3: Any, **how: str):
        self.s3, self.where = s3, {"Bucket": aws.bucket, "Key": "key"}
        self.id = s3.create_multipart_upload(**self.where, **how)["UploadId"]
        self.done: list[dict[str, Any]] = []

    def add(self, number: int, data: bytes, **how: str) -> None:
        told = self.s3.upload_part(
            **self.where, UploadId=self.id, PartNumber=number, Body=data, **how
        )
        self.done.append({"PartNumber": number, "ETag": told["ETag"]})

    def complete(self, parts: list[dict[str, Any]] | None = None, **how: Any) -> Any:
        return self.s3.complete_multipart_upload(
            **self.where,
            UploadId=self.id,
            MultipartUpload={"Parts": self.done if parts is None else parts},
            **how,
        )


def test_an_upload_is_absent_until_it_is_complete(aws: SageMakerService, s3: Any) -> None:
    upload = Parts(aws, s3)
    upload.add(1, b"only")

    assert aws.objects.keys(f"s3://{aws.bucket}/") == []
    (listed,) = s3.list_multipart_uploads(Bucket=aws.bucket)["Uploads"]
    assert (listed["Key"], listed["UploadId"]) == ("key", upload.id)
    (part,) = s3.list_parts(**upload.where, UploadId=upload.id)["Parts"]
    assert part["Size"] == 4
    upload.complete()
    assert aws.objects.keys(f"s3://{aws.bucket}/") == ["key"]


def test_an_upload_that_is_aborted_leaves_nothing(aws: SageMakerService, s3: Any) -> None:
    upload = Parts(aws, s3)
    upload.add(1, b"only")
    s3.abort_multipart_upload(**upload.where, UploadId=upload.id)

    assert "Uploads" not in s3.list_multipart_uploads(Bucket=aws.bucket)
    with pytest.raises(ClientError, match="NoSuchUpload"):
        upload.complete()


def test_a_completion_that_is_wrong_is_refused(aws: SageMakerService, s3: Any) -> None:
    upload = Parts(aws, s3)
    upload.add(1, b"small")
    upload.add(2, b"last")
    first, second = upload.done

    for parts, code in (
        ([first, second], "EntityTooSmall"),
        ([{**first, "ETag": '"0"'}], "InvalidPart"),
        ([first, {**second, "PartNumber": 3}], "InvalidPart"),
    ):
        with pytest.raises(ClientError, match=code):
            upload.complete(parts)
    aws.objects.uploads.smallest_part = 1
    with pytest.raises(ClientError, match="InvalidPartOrder"):
        upload.complete([second, first])
    sums = Parts(aws, s3, ChecksumAlgorithm="SHA256")
    sums.add(1, b"data", ChecksumAlgorithm="SHA256")
    with pytest.raises(ClientError, match="BadDigest"):
        sums.complete(ChecksumSHA256=sha256(b"other"))
    aws.objects.put(f"s3://{aws.bucket}/key", b"there already")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        upload.complete(IfNoneMatch="*")


def test_a_body_with_its_checksum_behind_it_is_read() -> None:
    body = b"4\r\nWiki\r\n5\r\npedia\r\n0\r\nx-amz-checksum-crc32:abc=\r\n\r\n"

    assert s3_checksums.decode_chunks(body) == (b"Wikipedia", {"x-amz-checksum-crc32": "abc="})
