"""The one place that makes AWS clients. It is imported on use, past the gate.

Credentials, proxies and endpoint addresses (AWS_ENDPOINT_URL and its variants) are botocore's own
business: nothing here knows of another service than AWS's.
"""

from __future__ import annotations

import threading
import time
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

import botocore.session
from botocore import UNSIGNED, exceptions
from botocore.config import Config

from launchers.core.cloud.errors import Cloud
from launchers.sagemaker.service import errors

# How often a client sends one request at the most, where nothing else is asked for.
ATTEMPTS = 5


_CONNECT_SECONDS = 10
_READ_SECONDS = 60
# A member that each answer has. botocore takes a body that was cut, or that is no JSON, for an
# answer without members (botocore.parsers, _parse_body_as_json).
_MEMBERS = {
    "CreateTrainingJob": "TrainingJobArn",
    "DescribeTrainingJob": "TrainingJobStatus",
    "GetCallerIdentity": "Account",
    "GetRole": "Role",
    "SimulatePrincipalPolicy": "EvaluationResults",
    "ListServiceQuotas": "Quotas",
    "DescribeKey": "KeyMetadata",
    "DescribeImages": "imageDetails",
    "DescribeLogStreams": "logStreams",
    "GetLogEvents": "nextForwardToken",
    "FilterLogEvents": "events",
    "LookupEvents": "Events",
    "HeadObject": "ETag",
    "PutObject": "ETag",
    "UploadPart": "ETag",
    "CreateMultipartUpload": "UploadId",
    "CompleteMultipartUpload": "ETag",
}


class Session(Cloud):
    """Clients of one region, each made once. Safe to use from several threads.

    Args:
        seconds: That an answer may take.
        attempts: How often one request is sent at the most, where nothing else is asked for.
    """

    title = "AWS"
    sign_in = "set AWS_PROFILE or AWS_ACCESS_KEY_ID, or run `aws sso login`"
    errors = errors.AWS_ERRORS

    def __init__(self, region: str, seconds: float = _READ_SECONDS, attempts: int = ATTEMPTS):
        self.region, self.attempts = region, attempts
        self._seconds = seconds
        self._lock = threading.Lock()
        self._session = botocore.session.get_session()
        self._clients: dict[tuple[str, int], Any] = {}

    def client(self, service: str, attempts: int | None = None) -> Any:
        """A client of ``service``.

        Args:
            attempts: How often it sends one request at the most. 1 where a second send is a
                decision of ours (CreateTrainingJob), never one of the client.
        """
        attempts = attempts or self.attempts
        with self._lock:
            known = self._clients.get((service, attempts))
            if known is None:
                known = self._made(service, attempts)
                known.meta.events.register("after-call", _whole, unique_id="launch-whole")
                self._clients[service, attempts] = known
            return known

    def clock_skew(self) -> float | None:
        """Seconds that this machine's clock is ahead of AWS's, asked without credentials; None
        where the answer has no date.

        Raises:
            Exception: One of :data:`AWS_ERRORS`: there is no answer.
        """
        with self._lock:
            client = self._made("sts", 1, signature_version=UNSIGNED)
        try:
            answer: Any = client.get_caller_identity()
        except exceptions.ClientError as error:  # as is to be expected, and it has a date
            answer = error.response
        told = answer["ResponseMetadata"].get("HTTPHeaders", {}).get("date")
        return time.time() - parsedate_to_datetime(told).timestamp() if told else None

    def source_of_credentials(self, offline: bool = False) -> str:
        """Where they come from, as botocore calls it; empty where there are none.

        Args:
            offline: Ask no machine of the cloud, that this may be, for its own.

        Raises:
            Exception: One of :data:`AWS_ERRORS`.
        """
        with self._lock:
            if offline:
                chain = self._session.get_component("credential_provider")
                for name in ("container-role", "iam-role"):
                    chain.remove(name)
            found = self._session.get_credentials()
        return str(found.method or "") if found else ""

    def message_of(self, error: Exception) -> str:
        """See :func:`launchers.sagemaker.service.errors.message_of`."""
        return errors.message_of(error)

    def is_expired(self, error: Exception) -> bool:
        """See :class:`Cloud`."""
        return errors.is_expired(error)

    def is_denied(self, error: Exception) -> bool:
        """See :class:`Cloud`."""
        return errors.is_denied(error)

    def is_throttled(self, error: Exception) -> bool:
        """See :class:`Cloud`."""
        return errors.is_throttled(error)

    def is_passing(self, error: Exception) -> bool:
        """See :class:`Cloud`."""
        return errors.is_passing(error)

    def renew(self) -> None:
        """Forget credentials and clients, so that the next call reads the credentials again."""
        with self._lock:
            self._session = botocore.session.get_session()
            self._clients = {}

    def _made(self, service: str, attempts: int, **settings: Any) -> Any:
        return self._session.create_client(
            service,
            region_name=self.region,
            config=Config(
                connect_timeout=min(_CONNECT_SECONDS, self._seconds),
                read_timeout=self._seconds,
                retries={"mode": "standard", "total_max_attempts": attempts},
                max_pool_connections=16,
                **settings,
            ),
        )

    def how_to_renew(self) -> str:
        """What to do about credentials that have expired, by where they came from."""
        profile = self._session.get_config_variable("profile")
        named = f" --profile {profile}" if profile else ""
        try:
            found = self._session.get_credentials()
        except errors.AWS_ERRORS:
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


def _whole(http_response: Any, parsed: dict[str, Any], model: Any, **_: Any) -> None:
    """Whether an answer has come whole; botocore does not hold it to its length.

    Raises:
        IncompleteReadError: It has not.
    """
    expected, actual = http_response.headers.get("Content-Length", ""), len(http_response.content)
    has_body = model.http.get("method") != "HEAD"
    cut = has_body and expected.isdecimal() and actual < int(expected)
    member = _MEMBERS.get(model.name)
    if cut or (http_response.status_code < 300 and member is not None and member not in parsed):
        raise exceptions.IncompleteReadError(
            actual_bytes=actual, expected_bytes=expected or f"an answer with {member}"
        )
