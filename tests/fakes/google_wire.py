"""Google Cloud's REST, the server's side: which path asks what, and how answers and errors look.

Source: Google, "REST Resource" of each API; "Errors" (google.rpc.Status as JSON).
"""

from __future__ import annotations

import functools
import json
import re
import urllib.parse
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from email.message import Message
from typing import Any

from tests.fakes.wire import Answer, Request, ServiceError

# google.rpc.Code -> status of HTTP.
STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "INTERNAL": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
# Status of HTTP -> the reason that Cloud Storage says.
_STORAGE_REASONS = {
    400: "invalid",
    401: "authError",
    403: "forbidden",
    404: "notFound",
    409: "conflict",
    412: "conditionNotMet",
    416: "requestedRangeNotSatisfiable",
    429: "rateLimitExceeded",
    500: "internalError",
    501: "notImplemented",
    503: "backendError",
}

_P = "/projects/(?P<project>[^/:]+)"
_PL = _P + "/locations/(?P<location>[^/:]+)"
_R = _PL + "/repositories/(?P<repository>[^/]+)"
_B = "/storage/v1/b/(?P<bucket>[^/]+)"
# Method, path, service, operation.
_ROUTES = [
    ("CONNECT", ".*", "proxy", "proxy.connect"),
    ("POST", "/token", "oauth2", "token"),
    ("GET", "/computeMetadata/v1.*|/", "metadata", "metadata"),
    ("POST", f"/v1{_PL}/customJobs", "aiplatform", "customJobs.create"),
    ("GET", f"/v1{_PL}/customJobs", "aiplatform", "customJobs.list"),
    ("GET", f"/v1{_PL}/customJobs/(?P<job>[^/:]+)", "aiplatform", "customJobs.get"),
    ("DELETE", f"/v1{_PL}/customJobs/(?P<job>[^/:]+)", "aiplatform", "customJobs.delete"),
    ("POST", f"/v1{_PL}/customJobs/(?P<job>[^/:]+):cancel", "aiplatform", "customJobs.cancel"),
    ("POST", "/v2/entries:list", "logging", "entries.list"),
    ("GET", _B, "storage", "buckets.get"),
    ("GET", f"{_B}/iam/testPermissions", "storage", "buckets.testIamPermissions"),
    ("GET", f"{_B}/o", "storage", "objects.list"),
    ("GET", f"{_B}/o/(?P<object>[^/]+)", "storage", "objects.get"),
    ("DELETE", f"{_B}/o/(?P<object>[^/]+)", "storage", "objects.delete"),
    ("GET", f"/download{_B}/o/(?P<object>[^/]+)", "storage", "objects.download"),
    (
        "POST",
        f"{_B}/o/(?P<object>[^/]+)/rewriteTo/b/(?P<to_bucket>[^/]+)/o/(?P<to_object>[^/]+)",
        "storage",
        "objects.rewrite",
    ),
    ("POST", f"/upload{_B}/o", "storage", "objects.insert"),
    ("PUT", f"/(?:resumable/)?upload{_B}/o", "storage", "objects.upload"),
    ("DELETE", f"/(?:resumable/)?upload{_B}/o", "storage", "objects.cancel"),
    ("GET", f"/v3{_P}", "cloudresourcemanager", "projects.get"),
    ("POST", f"/v3{_P}:testIamPermissions", "cloudresourcemanager", "projects.testIamPermissions"),
    ("GET", f"/v1{_P}", "cloudresourcemanager", "projects.get"),
    ("POST", f"/v1{_P}:testIamPermissions", "cloudresourcemanager", "projects.testIamPermissions"),
    (
        "GET",
        f"/v1beta1{_P}/services/(?P<api>[^/]+)/consumerQuotaMetrics",
        "serviceusage",
        "consumerQuotaMetrics.list",
    ),
    (
        "GET",
        f"/v1beta1{_P}/services/(?P<api>[^/]+)/consumerQuotaMetrics/(?P<metric>[^/]+)",
        "serviceusage",
        "consumerQuotaMetrics.get",
    ),
    ("GET", f"/v1{_P}/services/(?P<api>[^/]+)", "serviceusage", "services.get"),
    (
        "GET",
        f"/v1{_R}/dockerImages",
        "artifactregistry",
        "dockerImages.list",
    ),
    (
        "GET",
        f"/v1{_R}/dockerImages/(?P<image>.+)",
        "artifactregistry",
        "dockerImages.get",
    ),
    (
        "GET",
        f"/v1{_R}/packages/(?P<package>[^/]+)/tags/(?P<tag>[^/]+)",
        "artifactregistry",
        "tags.get",
    ),
    ("GET", f"/v1{_P}/serviceAccounts/(?P<email>[^/:]+)", "iam", "serviceAccounts.get"),
    (
        "POST",
        f"/v1{_P}/serviceAccounts/(?P<email>[^/:]+):testIamPermissions",
        "iam",
        "serviceAccounts.testIamPermissions",
    ),
    (
        "GET",
        f"/v1{_P}/secrets/(?P<secret>[^/]+)/versions/(?P<version>[^/:]+)",
        "secretmanager",
        "versions.get",
    ),
    (
        "GET",
        f"/v1{_P}/secrets/(?P<secret>[^/]+)/versions/(?P<version>[^/:]+):access",
        "secretmanager",
        "versions.access",
    ),
]
_COMPILED = [(method, re.compile(path), *rest) for method, path, *rest in _ROUTES]


def refused(
    code: str,
    message: str,
    details: Sequence[Mapping[str, Any]] = (),
    headers: Mapping[str, str] | None = None,
) -> ServiceError:
    """An error by its google.rpc.Code."""
    return ServiceError(code, message, STATUS[code], headers, details)


# For faults.Refuse.
QUOTA_EXCEEDED = refused(
    "RESOURCE_EXHAUSTED",
    "The following quota metrics exceed quota limits: "
    "aiplatform.googleapis.com/custom_model_training_nvidia_l4_gpus",
)
TOO_MANY_REQUESTS = refused(
    "RESOURCE_EXHAUSTED",
    "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute'.",
)
TOO_MANY_READS = refused(
    "RESOURCE_EXHAUSTED",
    "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute' of "
    "service 'logging.googleapis.com'.",
)
INTERNAL = refused("INTERNAL", "Internal error encountered.")
UNAVAILABLE = refused("UNAVAILABLE", "The service is currently unavailable.")
DEADLINE = refused("DEADLINE_EXCEEDED", "Deadline expired before operation could complete.")
FORBIDDEN = refused("PERMISSION_DENIED", "The caller does not have permission")
UNAUTHENTICATED = refused(
    "UNAUTHENTICATED",
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie "
    "or other valid authentication credential. See "
    "https://developers.google.com/identity/sign-in/web/devconsole-project.",
    headers={"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/"'},
)


def invalid(violations: Mapping[str, str]) -> ServiceError:
    """Vertex AI's answer to a request with mistakes, field -> what is wrong with it."""
    found = "".join(
        f"{number}.Field: {name}; Message: {text}\t"
        for number, (name, text) in enumerate(violations.items(), 1)
    )
    fields = [{"field": name, "description": text} for name, text in violations.items()]
    detail = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": fields}
    return refused("INVALID_ARGUMENT", f"List of found errors:\t{found}", [detail])


def read_head(number: int, method: str, target: str, headers: Message) -> Request:
    """The request without its body; an unknown path has no service and no operation."""
    path, _, query_text = target.partition("?")
    query = dict(urllib.parse.parse_qsl(query_text, keep_blank_values=True))
    service = operation = ""
    places: dict[str, str] = {}
    for wanted, pattern, where, what in _COMPILED:
        match = pattern.fullmatch(path) if method == wanted else None
        if match:
            service, operation = where, what
            places = {key: urllib.parse.unquote(text) for key, text in match.groupdict().items()}
            break
    if operation == "objects.get" and query.get("alt") == "media":
        operation = "objects.download"
    region = places.get("location", "")
    return Request(
        number, method, target, headers, service, operation, query, region, places=places
    )


def read_json(request: Request) -> dict[str, Any]:
    """The body as a JSON object.

    Raises:
        ServiceError: It is none.
    """
    try:
        parsed = json.loads(request.body or b"{}")
    except ValueError as error:
        raise refused("INVALID_ARGUMENT", f"Invalid JSON payload received. {error}") from None
    if not isinstance(parsed, dict):
        raise refused("INVALID_ARGUMENT", "Invalid JSON payload received. Expected an object.")
    return parsed


def write_json(content: Mapping[str, Any], status: int = 200) -> Answer:
    """An answer that succeeded."""
    return Answer(
        status,
        {"Content-Type": "application/json; charset=UTF-8"},
        json.dumps(content, separators=(",", ":")).encode(),
    )


def write_error(request: Request, error: ServiceError) -> Answer:
    """The error in the form of the request's service."""
    said: dict[str, Any] = {"code": error.status, "message": error.message}
    if request.service == "oauth2":
        answer = write_json({"error": error.code, "error_description": error.message})
    elif request.service == "metadata":
        answer = Answer(error.status, {"Content-Type": "text/html"}, error.message.encode())
    elif request.service == "storage":
        reason = _STORAGE_REASONS.get(error.status, "invalid")
        said["errors"] = [{"message": error.message, "domain": "global", "reason": reason}]
        answer = write_json({"error": said})
    else:
        said["status"] = error.code
        if error.details:
            said["details"] = error.details
        answer = write_json({"error": said})
    answer.status = error.status
    answer.headers.update(error.headers)
    return answer


def iso(seconds: float) -> str:
    """A time as Google writes it, to the microsecond."""
    moment = datetime.fromtimestamp(round(seconds, 6), timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def iso_nanoseconds(nanoseconds: int) -> str:
    """The same to the nanosecond, of an integer since the epoch."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{_iso_seconds(seconds)}.{rest:09d}Z"


@functools.lru_cache(maxsize=256)
def _iso_seconds(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)"
    r"|(\d{4}-\d\d-\d\d)"
)


def nanoseconds_of(text: str) -> int:
    """An RFC 3339 time, or a day, in nanoseconds since the epoch.

    Raises:
        ServiceError: It is none.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise refused("INVALID_ARGUMENT", f"Invalid timestamp: {text!r}; expected RFC 3339")
    zone = "+00:00" if (match[4] or "Z") in "Zz" else match[4]
    day, clock = match[1] or match[5], match[2] or "00:00:00"
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{zone}")
    except ValueError:
        raise refused("INVALID_ARGUMENT", f"Invalid timestamp: {text!r}") from None
    return int(moment.timestamp()) * 1_000_000_000 + int((match[3] or "0").ljust(9, "0"))
