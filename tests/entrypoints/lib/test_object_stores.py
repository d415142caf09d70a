from __future__ import annotations

import pytest

from entrypoints.lib import object_stores

FORBIDDEN = (
    "google::cloud::Status(PERMISSION_DENIED: Permanent error, with a last message of me@x does "
    "not have storage.objects.get access. Permission denied (or it may not exist). "
    "error_info={reason=forbidden, domain=global, metadata={http_status_code=403}}). "
    "Detail: [errno 13] Permission denied"
)
NO_TOKEN = (
    "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of Could not "
    "create a OAuth2 access token to authenticate the request. The underlying error message was: "
    "PerformWork() - CURL error [6]=Could not resolve hostname error_info={reason=, domain=}})"
)
FORBIDDEN_SHORT = (
    "me@x does not have storage.objects.get access. Permission denied (or it may not exist)"
)
NOT_ACCEPTED = (
    "google::cloud::Status(UNAUTHENTICATED: Permanent error, with a last message of Invalid. "
    "error_info={})"
)
LOGIN = "`gcloud auth application-default login`, or GOOGLE_APPLICATION_CREDENTIALS=FILE"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("gs://bucket/a", "gs://bucket/a?retry_limit_seconds=7"),
        ("gcs://bucket/a?scheme=http", "gcs://bucket/a?scheme=http&retry_limit_seconds=7"),
        ("gs://bucket/a?retry_limit_seconds=900", "gs://bucket/a?retry_limit_seconds=900"),
        ("s3://bucket/a", "s3://bucket/a"),
        ("/folder", "/folder"),
    ],
)
def test_googles_client_gives_up_when_the_address_or_this_says(address: str, expected: str) -> None:
    assert object_stores.patient(address, 7) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PermissionError(13, FORBIDDEN), FORBIDDEN_SHORT),
        (f"[Errno 13] {FORBIDDEN}", FORBIDDEN_SHORT),
        (
            OSError(NO_TOKEN),
            f"no credentials for Google Cloud (Could not resolve hostname): {LOGIN}",
        ),
        (NOT_ACCEPTED, f"credentials that Google Cloud does not accept (Invalid): {LOGIN}"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("AWS Error\n NO_SUCH_BUCKET"), "AWS Error NO_SUCH_BUCKET"),
    ],
)
def test_what_a_store_says_is_one_line_for_people(error: OSError | str, expected: str) -> None:
    assert object_stores.said(error) == expected
