"""Object stores (s3://, gs://) by pyarrow, which is imported on use: opened, and what they say.

Google's client tries again for a quarter of an hour where nobody answers, also where there are no
credentials at all. Here a first look takes seconds, what follows some minutes. An address that
says `retry_limit_seconds` itself is taken as it is. Source: Apache Arrow, "Google Cloud Storage
File System", and google-cloud-cpp, "LimitedTimeRetryPolicy".
"""

from __future__ import annotations

import errno
import re
from functools import lru_cache
from typing import Any

_GOOGLE = ("gs://", "gcs://")
_LIMIT = "retry_limit_seconds"
FIRST_SECONDS, SECONDS = 10, 120
_STATUS = re.compile(
    r"(?:\[Errno \d+\] )?google::cloud::Status\((?P<code>[A-Z_]+): "
    r"(?:(?:Permanent error|Retry policy exhausted|Error in non-idempotent operation)[^,]*, "
    r"with a last message of )?(?P<text>.*?)(?: error_info=\{.*| *\)\W*)?$",
    re.DOTALL,
)
_CURL = re.compile(r"PerformWork\(\) - CURL error \[\d+\]=")
_NO_TOKEN = "Could not create a OAuth2 access token"
_NOBODY = "no credentials"
_LOGIN = "`gcloud auth application-default login`, or GOOGLE_APPLICATION_CREDENTIALS=FILE"


def opened(address: str) -> tuple[Any, str]:
    """(pyarrow's file system, path in it) of a URL. Blocks for Google's, once a bucket.

    Raises:
        ImportError: No pyarrow.
        OSError, ValueError, NotImplementedError: It isn't reached, or the URL is none of one.
    """
    from pyarrow import fs

    if _is_google(address):
        scheme, _, rest = address.partition("://")
        place, mark, settings = rest.partition("?")
        _reach(f"{scheme}://{place.partition('/')[0]}/{mark}{settings}")
    files, path = fs.FileSystem.from_uri(patient(address))
    return files, path.rstrip("/")


def patient(address: str, seconds: int = SECONDS) -> str:
    """``address`` so that its client gives up after ``seconds``, where nothing else is said."""
    if not _is_google(address) or f"{_LIMIT}=" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}{_LIMIT}={seconds}"


def said(error: BaseException | str) -> str:
    """What the system or a store says, in one line and without its client's own words."""
    text = " ".join((error if isinstance(error, str) else _text(error)).split())
    status = _STATUS.search(text)
    if not status:
        return text
    told = _CURL.sub("", status["text"]).rstrip(" .")
    if _NO_TOKEN in told:
        why = told.rpartition("message was: ")[2]
        return f"{_NOBODY} for Google Cloud ({why}): {_LOGIN}"
    if status["code"] == "UNAUTHENTICATED":
        return f"credentials that Google Cloud does not accept ({told}): {_LOGIN}"
    return told or status["code"]


def _text(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)


def _is_google(address: str) -> bool:
    return address.lower().startswith(_GOOGLE)


@lru_cache(maxsize=64)
def _reach(bucket: str) -> None:
    """Asks for the bucket; whether it's there and may be asked for is said by what comes next."""
    import pyarrow as pa
    from pyarrow import fs

    files, name = fs.FileSystem.from_uri(patient(bucket, FIRST_SECONDS))
    try:
        files.get_file_info(name.rstrip("/"))
    except (PermissionError, FileNotFoundError):
        return
    except (OSError, pa.ArrowException) as error:
        why = said(error)
        kind = errno.EACCES if why.startswith(_NOBODY) else errno.EIO
        raise OSError(kind, why) from error
