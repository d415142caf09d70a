"""The one place that makes Google Cloud clients. It is imported on use, past the gate.

Credentials and proxies are google-auth's own business. An API's address may be another one by
gcloud's own variables (CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM and the like), Cloud Storage's
by STORAGE_EMULATOR_HOST.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
import warnings
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

# Google's packages warn of every Python version a year before its end.
warnings.filterwarnings("ignore", category=FutureWarning, module=r"google\.api_core\.")
# google-auth asks in the background where its credentials may be used; a network that does not let
# it through is no news, and what a call of ours meets comes as an error.
logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)

import google.auth  # noqa: E402
import requests  # noqa: E402
from google.api_core import exceptions as api  # noqa: E402
from google.auth import exceptions as auth  # noqa: E402
from google.protobuf.json_format import ParseError  # noqa: E402

from launchers.core.cloud.errors import Cloud  # noqa: E402

if TYPE_CHECKING:
    from google.cloud.aiplatform_v1 import JobServiceClient
    from google.cloud.storage import Client as StorageClient

# Everything that a call may raise: an answer that is an error, none, or one that is cut off.
GOOGLE_ERRORS = (
    api.GoogleAPIError,
    auth.GoogleAuthError,
    requests.exceptions.RequestException,
    ParseError,
)
# Of one request, in seconds.
TIMEOUT_SECONDS = 60.0

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_OVERRIDES = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"
# What urllib3 says of a host that it has given up.
_UNREACHED = re.compile(r"host='(?P<host>[^']+)'.*Max retries exceeded.*Caused by (?P<why>\w+)\(")
# Answers that say "later": 408, 409 ABORTED, 429, 499 and every 5xx.
_PASSING = (408, 409, 429, 499)
# The words of a quota that no waiting refills, in an answer that has the status of a throttled one.
_QUOTA_WORDS = ("exceed quota limits", "custom_model_training_")


class Session(Cloud):
    """Clients for one project and location, each made once. Safe to use from several threads.

    Args:
        seconds: That an answer may take.
        attempts: How often a call that only reads is made at the most.

    Attributes:
        parent: ``projects/P/locations/L``.
    """

    title = "Google Cloud"
    sign_in = (
        "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a "
        "service account's key file"
    )
    errors = GOOGLE_ERRORS

    def __init__(
        self,
        project: str,
        location: str,
        seconds: float = TIMEOUT_SECONDS,
        attempts: int = Cloud.attempts,
    ):
        self.project, self.location = project, location
        self.seconds, self.attempts = seconds, attempts
        self.parent = f"projects/{project}/locations/{location}"
        self._lock = threading.RLock()
        self._made: dict[str, Any] = {}

    def jobs(self) -> JobServiceClient:
        """The client of Vertex AI's jobs, over REST. It repeats nothing by itself where it is
        called with ``retry=None``."""
        with self._lock:
            if "jobs" not in self._made:
                from google.cloud.aiplatform_v1 import JobServiceClient

                host = f"{self.location}-aiplatform.googleapis.com"
                options = {"api_endpoint": _override("aiplatform") or host}
                self._made["jobs"] = JobServiceClient(
                    credentials=self._credentials(), transport="rest", client_options=options
                )
            client: JobServiceClient = self._made["jobs"]
            return client

    def storage(self) -> StorageClient:
        """The client of Cloud Storage."""
        from google.cloud.storage import Client

        with self._lock:
            credentials = self._credentials()
            if "storage" not in self._made:
                self._made["storage"] = Client(project=self.project, credentials=credentials)
            client: StorageClient = self._made["storage"]
            return client

    def get(self, service: str, path: str, **query: str) -> dict[str, Any]:
        """The answer of ``https://<service>.googleapis.com/<path>``. One attempt.

        Raises:
            Exception: One of :data:`GOOGLE_ERRORS`.
        """
        return self._ask("GET", service, path, params=query)

    def post(self, service: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The same, with a body of JSON."""
        return self._ask("POST", service, path, json=body)

    def caller(self) -> str:
        """Who calls, as far as the credentials say so themselves. May ask for a token.

        Raises:
            Exception: One of :data:`GOOGLE_ERRORS`: there are no good credentials.
        """
        credentials = self._credentials()
        named = getattr(credentials, "service_account_email", "") or getattr(
            credentials, "account", ""
        )
        return str(named) or f"a user's own credentials ({type(credentials).__name__})"

    def clock_skew(self) -> float | None:
        """Seconds that this machine's clock is ahead of Google's, asked without credentials; None
        where the answer has no date.

        Raises:
            Exception: One of :data:`GOOGLE_ERRORS`: there is no answer.
        """
        base = _override("aiplatform") or f"https://{self.location}-aiplatform.googleapis.com"
        told = requests.head(base, timeout=self.seconds).headers.get("date")
        return time.time() - parsedate_to_datetime(told).timestamp() if told else None

    def own_project(self) -> str:
        """The project of the credentials themselves; empty where they have none.

        Raises:
            Exception: One of :data:`GOOGLE_ERRORS`: there are no credentials.
        """
        with self._lock:
            self._credentials()
            return str(self._made["own project"] or "")

    def message_of(self, error: Exception) -> str:
        """See :class:`Cloud`."""
        text = error.message if isinstance(error, api.GoogleAPICallError) else str(error)
        # A request's address, which format_http_response_error puts before what was said.
        said = str(text or type(error).__name__).partition(": ")
        shown = said[2] if said[0].startswith(("GET http", "POST http", "PUT http")) else text
        lost = _UNREACHED.search(str(shown))
        if lost:
            why = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", lost["why"]).lower()
            return f"{lost['host']} cannot be reached: {why}"
        return " ".join(str(shown or type(error).__name__).split())

    def is_expired(self, error: Exception) -> bool:
        """See :class:`Cloud`."""
        if isinstance(error, auth.RefreshError):
            return not error.retryable
        kinds = (auth.DefaultCredentialsError, api.Unauthorized, auth.UserAccessTokenError)
        return isinstance(error, kinds)

    def is_denied(self, error: Exception) -> bool:
        """See :class:`Cloud`."""
        return isinstance(error, api.Forbidden)

    def is_throttled(self, error: Exception) -> bool:
        """See :class:`Cloud`. Too few machines in the quota is no throttling, although it has the
        same status."""
        return isinstance(error, api.TooManyRequests) and not is_quota(error)

    def is_passing(self, error: Exception) -> bool:
        """See :class:`Cloud`."""
        if isinstance(error, api.GoogleAPICallError):
            code = int(error.code or 0)
            return (code >= 500 or code in _PASSING) and not is_quota(error)
        if isinstance(error, auth.RefreshError):
            return bool(error.retryable)
        if isinstance(error, auth.GoogleAuthError):
            return isinstance(error, auth.TransportError | auth.TimeoutError)
        return True

    def renew(self) -> None:
        """See :class:`Cloud`."""
        with self._lock:
            self._made = {}

    def how_to_renew(self) -> str:
        """See :class:`Cloud`."""
        file = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
        if file:
            return f"put a key that is valid into {file} (GOOGLE_APPLICATION_CREDENTIALS)"
        return "run `gcloud auth application-default login` in another terminal"

    def _ask(self, method: str, service: str, path: str, **how: Any) -> dict[str, Any]:
        base = _override(service) or f"https://{service}.googleapis.com"
        answer = self._http().request(method, f"{base}/{path}", timeout=self.seconds, **how)
        if not answer.ok:
            raise api.from_http_response(answer)
        found: dict[str, Any] = answer.json()
        return found

    def _http(self) -> Any:
        """A ``requests`` session that signs its requests."""
        from google.auth.transport.requests import AuthorizedSession

        with self._lock:
            credentials = self._credentials()
            if "http" not in self._made:
                self._made["http"] = AuthorizedSession(credentials)
            return self._made["http"]

    def _credentials(self) -> Any:
        """Credentials with a token that is good now: asked for once, not once a thread."""
        from google.auth.transport.requests import Request

        with self._lock:
            if "credentials" not in self._made:
                found, project = google.auth.default(scopes=_SCOPES)
                self._made |= {"credentials": found, "own project": project}
            credentials = self._made["credentials"]
            if not credentials.valid:
                credentials.refresh(Request())
            return credentials


@lru_cache(maxsize=8)
def session_for(project: str, location: str) -> Session:
    """The session of a project and location, one a process."""
    return Session(project, location)


def is_missing(error: Exception) -> bool:
    """Whether what was asked for does not exist."""
    return isinstance(error, api.NotFound)


def is_quota(error: Exception) -> bool:
    """Whether the project's quota has no room for the job: no waiting refills it. Source: the
    answer of customJobs.create, RESOURCE_EXHAUSTED, "The following quota metrics exceed quota
    limits: aiplatform.googleapis.com/custom_model_training_nvidia_l4_gpus"."""
    return isinstance(error, api.TooManyRequests) and any(
        word in str(error) for word in _QUOTA_WORDS
    )


def _override(service: str) -> str:
    """The address that gcloud's own variable gives an API; empty for Google's."""
    return os.environ.get(f"{_OVERRIDES}{service.upper()}", "").rstrip("/")
