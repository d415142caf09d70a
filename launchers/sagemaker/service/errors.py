"""What an error of AWS means: which kind it is, and what a person is told of it."""

from __future__ import annotations

import re

from botocore import exceptions
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

# Everything that an AWS call may raise: an answer that is an error, none, or one that is no answer.
AWS_ERRORS = (ClientError, BotoCoreError, ResponseParserError)


def _named(*names: str) -> tuple[type[Exception], ...]:
    """Those of botocore's exceptions that the installed version has."""
    return tuple(getattr(exceptions, name) for name in names if hasattr(exceptions, name))


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
        # A wrong secret key, or a clock that is wrong.
        "SignatureDoesNotMatch",
        "InvalidSignatureException",
        "RequestTimeTooSkewed",
        "AuthFailure",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
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
# By their names: older versions of botocore lack some.
_NO_CREDENTIALS = _named(
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "TokenRetrievalError",
    "NoAuthTokenError",
    "SSOError",
    "LoginError",
    "ProfileNotFound",
    "ConfigParseError",
    "ConfigNotFound",
    "InvalidConfigError",
)
# No answer, or none that can be read. Any other error of botocore's own (a parameter, a setting)
# stays what it is, however often it is tried.
_NO_ANSWER = (
    *_named("HTTPClientError", "ConnectionError", "IncompleteReadError", "ChecksumError"),
    ResponseParserError,
)
# As the services word it: Value '{A=1, B=2}' at 'environment' failed to satisfy constraint: ...
_PAGE = re.compile(r"\s*<(!doctype|html|\?xml)", re.IGNORECASE)
_MAP = re.compile(r"Value '\{.*\}' at '", re.DOTALL)


def is_expired(error: Exception) -> bool:
    """Whether the credentials were good once, or are none."""
    return isinstance(error, _NO_CREDENTIALS) or code_of(error) in _EXPIRED


def is_denied(error: Exception) -> bool:
    """Whether the caller lacks a right."""
    return code_of(error) in _DENIED


def is_throttled(error: Exception) -> bool:
    """Whether the service has had too many requests."""
    return code_of(error) in _THROTTLED


def is_passing(error: Exception) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, ClientError):
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return status >= 500 or is_throttled(error)
    return isinstance(error, _NO_ANSWER)


def code_of(error: Exception) -> str:
    """The service's own code of an error; empty where there was no answer."""
    if not isinstance(error, ClientError):
        return ""
    return str(error.response.get("Error", {}).get("Code", ""))


def message_of(error: Exception) -> str:
    """One line for a person. SageMaker quotes the whole Environment where one of its values is
    wrong; none of that is shown, since it goes into the ledger and the screen's history."""
    if isinstance(error, ClientError):
        told = error.response.get("Error", {})
        text = str(told.get("Message", ""))
        if _PAGE.match(text):  # a proxy's, or a gateway's
            return f"an answer that cannot be read: a page of HTML ({told.get('Code', '')})"
        text = _MAP.sub("A map (not shown) at '", text)
        return f"{told.get('Code', '')}: {text}".replace("\n", " ")
    if isinstance(error, ResponseParserError):
        return "an answer that cannot be read: it was cut, or something else than AWS gave it"
    return str(error).replace("\n", " ")


def is_missing(error: Exception) -> bool:
    """Whether a training job does not exist. The service says ValidationException although its
    model has ResourceNotFound (github.com/boto/boto3, issue 2808)."""
    code = code_of(error)
    text = message_of(error).lower()
    missing = code == "ValidationException" and ("not found" in text or "could not find" in text)
    return missing or code in ("ResourceNotFound", "ResourceNotFoundException")
