"""The one place that makes AWS clients. It is imported on use, past the gate.

Credentials, proxies and endpoint addresses (AWS_ENDPOINT_URL and its variants) are botocore's own
business: nothing here knows of another service than AWS's.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
)

from launchers.core.problems import (
    EXIT_PREFLIGHT,
    EXIT_PROVIDER,
    LaunchError,
    PassingError,
    Problem,
)

# Everything that an AWS call may raise: an answer that is an error, or no answer.
AWS_ERRORS = (ClientError, BotoCoreError)

_CONNECT_SECONDS = 10
_READ_SECONDS = 60
_ATTEMPTS = 5
# What the services answer to credentials that were good once, or are none.
_EXPIRED = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "RequestExpired",
        "TokenRefreshRequired",
        "InvalidClientTokenId",
        "UnrecognizedClientException",
        "InvalidAccessKeyId",
    }
)
_DENIED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "UnauthorizedOperation",
        "AuthorizationError",
        "NotAuthorized",
        "403",
    }
)
_THROTTLED = frozenset(
    {
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "RequestThrottled",
        "RequestThrottledException",
        "TooManyRequestsException",
        "RequestLimitExceeded",
        "LimitExceededException",
        "SlowDown",
    }
)
_NO_CREDENTIALS = (
    NoCredentialsError,
    PartialCredentialsError,
    CredentialRetrievalError,
    TokenRetrievalError,
    SSOError,
)


class Session:
    """Clients of one region, each made once. Safe to use from several threads."""

    def __init__(self, region: str):
        self.region = region
        self._lock = threading.Lock()
        self._session = botocore.session.get_session()
        self._clients: dict[tuple[str, int], Any] = {}

    def client(self, service: str, attempts: int = _ATTEMPTS) -> Any:
        """A client of ``service``.

        Args:
            attempts: How often it sends one request at the most. 1 where a second send is a
                decision of ours (CreateTrainingJob), never one of the client.
        """
        with self._lock:
            known = self._clients.get((service, attempts))
            if known is None:
                known = self._session.create_client(
                    service,
                    region_name=self.region,
                    config=Config(
                        connect_timeout=_CONNECT_SECONDS,
                        read_timeout=_READ_SECONDS,
                        retries={"mode": "standard", "total_max_attempts": attempts},
                        max_pool_connections=16,
                    ),
                )
                self._clients[service, attempts] = known
            return known

    def renew(self) -> None:
        """Forget credentials and clients, so that the next call reads the credentials again."""
        with self._lock:
            self._session = botocore.session.get_session()
            self._clients = {}

    def how_to_renew(self) -> str:
        """What to do about credentials that have expired, by where they came from."""
        profile = self._session.get_config_variable("profile")
        named = f" --profile {profile}" if profile else ""
        try:
            found = self._session.get_credentials()
        except AWS_ERRORS:
            found = None
        method = found.method if found else ""
        if method == "env":
            return (
                "they came from the variables AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN, which only "
                "a new command sees: set new ones and run `launch logs JOB --follow`"
            )
        if "sso" in method or "login" in method:
            return f"run `aws sso login{named}` in another terminal"
        if "shared-credentials" in method or "config-file" in method:
            return f"renew those of profile {profile or 'default'} in ~/.aws/credentials"
        return f"renew them in another terminal, with `aws configure{named}` or `aws sso login`"


@lru_cache(maxsize=8)
def session_for(region: str) -> Session:
    """The session of a region, one a process."""
    return Session(region)


def code_of(error: Exception) -> str:
    """The service's own code of an error; empty where there was no answer."""
    if not isinstance(error, ClientError):
        return ""
    return str(error.response.get("Error", {}).get("Code", ""))


def message_of(error: Exception) -> str:
    """One line for a person."""
    if isinstance(error, ClientError):
        told = error.response.get("Error", {})
        return f"{told.get('Code', '')}: {told.get('Message', '')}".replace("\n", " ")
    return str(error).replace("\n", " ")


def is_expired(error: Exception) -> bool:
    """Whether it is the caller's credentials that are missing or no longer good."""
    return isinstance(error, _NO_CREDENTIALS) or code_of(error) in _EXPIRED


def is_denied(error: Exception) -> bool:
    """Whether the caller may not ask."""
    return code_of(error) in _DENIED


def is_throttled(error: Exception) -> bool:
    """Whether the service wants fewer requests; the request was not done."""
    return code_of(error) in _THROTTLED


def is_missing(error: Exception) -> bool:
    """Whether a training job does not exist. The service says ValidationException although its
    model has ResourceNotFound (github.com/boto/boto3, issue 2808)."""
    code = code_of(error)
    missing = code == "ValidationException" and "not found" in message_of(error).lower()
    return missing or code in ("ResourceNotFound", "ResourceNotFoundException")


def is_passing(error: Exception) -> bool:
    """Whether the same request may well do later: no answer, a 5xx, or too many requests."""
    if isinstance(error, ClientError):
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return status >= 500 or is_throttled(error)
    return not isinstance(error, _NO_CREDENTIALS)


def refused(error: Exception, what: str, fix: str = "") -> LaunchError:
    """The error for a person: the provider answered with one (exit code 5), or the caller has no
    good credentials (exit code 4)."""
    if is_expired(error):
        return LaunchError(
            Problem(
                "AWS credentials",
                message_of(error),
                "credentials that are valid now",
                "set AWS_PROFILE or AWS_ACCESS_KEY_ID, or run `aws sso login`",
                rule="aws-credentials",
            ),
            EXIT_PREFLIGHT,
        )
    kind = PassingError if is_passing(error) else LaunchError
    return kind(
        Problem(what, message_of(error), "an answer without an error", fix, rule="aws-refused"),
        EXIT_PROVIDER,
    )
