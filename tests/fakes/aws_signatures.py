"""Who signed a request? Signature Version 4, checked as AWS checks it.

A launcher that changed a body or a header after it was signed would be refused by AWS; so it is
here. Source: AWS, "Create a signed AWS API request".
"""

from __future__ import annotations

import hashlib
import hmac
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass

from tests.fakes.wire import Request, ServiceError

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<scope>\d{8}/[^/]+/[^/]+/aws4_request), ?"
    r"SignedHeaders=(?P<headers>[^,]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
# What says "this body is not in the signature".
_NOT_HASHED = ("UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")


@dataclass
class Identity:
    """Somebody who has credentials.

    Attributes:
        arn: ``arn:aws:iam::ACCOUNT:user/NAME``, or an assumed role's.
        token: The session token of temporary credentials; empty for a user's own.
        expired: Whether the credentials are past their end now.
    """

    arn: str
    access_key: str
    secret_key: str
    token: str = ""
    expired: bool = False

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which boto3 finds the credentials."""
        found = {"AWS_ACCESS_KEY_ID": self.access_key, "AWS_SECRET_ACCESS_KEY": self.secret_key}
        return {**found, "AWS_SESSION_TOKEN": self.token} if self.token else found


def made_up(arn: str, temporary: bool = False) -> Identity:
    """An identity with credentials that open nothing, the same for the same ``arn``.

    They have the shape of real ones and are put together here, so that no file holds one.
    """
    digest = hashlib.sha256(arn.encode()).hexdigest()
    kind = "ASIA" if temporary else "AKIA"
    token = f"made-up-session-token-{digest}" if temporary else ""
    return Identity(arn, kind + digest[:16].upper(), f"made-up-secret/{digest[:25]}", token)


def check(request: Request, identities: Mapping[str, Identity]) -> Identity:
    """The identity that signed the request.

    Raises:
        ServiceError: Nobody whom the service knows did, or not this request, or too late.
    """
    service = request.service
    match = _AUTHORIZATION.fullmatch(request.header("Authorization"))
    if match is None:
        raise _refusal(service, "missing", "Missing Authentication Token")
    identity = identities.get(match["key"])
    if identity is None:
        text = "The security token included in the request is invalid."
        raise _refusal(service, "unknown", text)
    if request.header("X-Amz-Security-Token") != identity.token:
        raise _refusal(service, "unknown", "The security token included in the request is invalid")
    if identity.expired:
        text = "The security token included in the request is expired"
        raise _refusal(service, "expired", text)
    if not hmac.compare_digest(_signature(request, identity, match), match["signature"]):
        text = "The request signature we calculated does not match the signature you provided."
        raise _refusal(service, "wrong", text)
    hashed = request.header("X-Amz-Content-SHA256")
    if hashed and hashed not in _NOT_HASHED and hashed != hashlib.sha256(request.body).hexdigest():
        text = "The provided 'x-amz-content-sha256' header does not match what was computed."
        raise ServiceError("XAmzContentSHA256Mismatch", text)
    return identity


def _signature(request: Request, identity: Identity, match: re.Match[str]) -> str:
    """What the signature must be."""
    scope, names = match["scope"], match["headers"].split(";")
    parts = urllib.parse.urlsplit(request.target)
    pairs = sorted(pair.partition("=")[::2] for pair in parts.query.split("&") if pair)
    canonical = "\n".join(
        [
            request.method,
            parts.path,
            "&".join(f"{name}={value}" for name, value in pairs),
            *(f"{name}:{_trimmed(request, name)}" for name in names),
            "",
            match["headers"],
            request.header("X-Amz-Content-SHA256") or hashlib.sha256(request.body).hexdigest(),
        ]
    )
    text = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            request.header("X-Amz-Date"),
            scope,
            hashlib.sha256(canonical.encode()).hexdigest(),
        ]
    )
    key = f"AWS4{identity.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _trimmed(request: Request, name: str) -> str:
    values = request.headers.get_all(name) or []
    return ",".join(" ".join(str(value).split()) for value in values)


# What each family of services calls the same refusal: JSON, Query, EC2, S3; with the status.
_CODES: Mapping[str, tuple[tuple[str, int], ...]] = {
    "missing": (
        ("MissingAuthenticationTokenException", 400),
        ("MissingAuthenticationToken", 403),
        ("MissingAuthenticationToken", 403),
        ("AccessDenied", 403),
    ),
    "unknown": (
        ("UnrecognizedClientException", 400),
        ("InvalidClientTokenId", 403),
        ("AuthFailure", 401),
        ("InvalidAccessKeyId", 403),
    ),
    "expired": (
        ("ExpiredTokenException", 400),
        ("ExpiredToken", 403),
        ("RequestExpired", 400),
        ("ExpiredToken", 400),
    ),
    "wrong": (
        ("InvalidSignatureException", 400),
        ("SignatureDoesNotMatch", 403),
        ("SignatureDoesNotMatch", 403),
        ("SignatureDoesNotMatch", 403),
    ),
}
_FAMILY = {"sts": 1, "iam": 1, "ec2": 2, "s3": 3}


def _refusal(service: str, why: str, message: str) -> ServiceError:
    code, status = _CODES[why][_FAMILY.get(service, 0)]
    return ServiceError(code, message, status)
