"""A loopback Google Cloud for CustomJobs: real HTTP, which the official clients reach unmodified.

One port speaks for Vertex AI, Cloud Logging, Cloud Storage, Resource Manager, Service Usage,
Artifact Registry, IAM, Secret Manager, the OAuth token endpoint and the metadata server.
In a test::

    with VertexService() as google:
        google.jobs.scenario = VertexScenario(lines={"workerpool0-0": ["hello"]})
        subprocess.run([...], env={**os.environ, **google.environment()})
        assert len(google.jobs) == 1

**A client**: :meth:`VertexService.environment` has all that a process needs: credentials are a
service account's file (GOOGLE_APPLICATION_CREDENTIALS), CLOUDSDK_API_ENDPOINT_OVERRIDES_* and
STORAGE_EMULATOR_HOST lead here. A request without a good token is answered 401, Cloud Storage's
too: give ``storage.Client`` its credentials, since with an emulator set it would take none itself.
In this process :mod:`tests.fakes.google_clients` makes the same clients.
google-auth (2.62 does) asks iamcredentials.googleapis.com in the background for a regional
access boundary, and no variable says not to: HTTPS_PROXY leads that, and whatever else would
leave this machine, to a refusal here (``google.outside``).

**Jobs** (``google.jobs``, :mod:`tests.fakes.google_jobs`): ``scenario`` or ``script(name, ...)``
says how they go; ``get(name)``, ``step(name)``, ``run_to(name, "RUNNING")``, iteration, ``len``.
A job has ``name``, ``id``, ``resource``, ``document``, ``body``, ``labels``, ``state``,
``location``. ``list_lag``, ``list_misses``: lists that do not show a new job yet.
**How a job goes**: :class:`tests.fakes.google_scenarios.VertexScenario` (outcome, reason, code,
pace, queued, course, interruptions, lines, timed, late, late_lines, late_reads, runner, ...).
States are written without ``JOB_STATE_``. By default each ``customJobs.get`` moves a job on by
one state: PENDING, RUNNING, SUCCEEDED. A runner (:mod:`tests.fakes.job_runs`) gives
``("workerpool1-0", line)`` and returns a :class:`tests.fakes.google_scenarios.VertexVerdict`.
**Logs** (``google.logs``, :mod:`tests.fakes.google_logs`): ``reads_per_minute``,
``page_entries``, ``empty_pages_every``, ``as_text``.
**Objects** (``google.objects``, :mod:`tests.fakes.google_storage`): ``add_bucket``, ``put``,
``get``, ``keys``, by ``gs://bucket/name``.
**The account** (``google.account``, :mod:`tests.fakes.google_account`): ``deny(permission)``,
``quotas``, ``images``, ``secrets``, ``service_accounts``, ``disabled_apis``.
**Tokens** (``google.tokens``, :mod:`tests.fakes.google_tokens`): ``expire()``, ``refusal``.
**Faults** (``google.faults``, :mod:`tests.fakes.faults`), by operation or service, with the errors
of :mod:`tests.fakes.google_wire`::

    google.faults.add(Refuse(UNAVAILABLE), "customJobs.create", point=HANDLED, times=1)
    google.faults.add(Drop(HALF_BODY), "entries.list", every=3)

**What was sent**: ``google.requests``, ``google.received("customJobs.create")``. Operations:
token, metadata, customJobs.{create,get,list,cancel,delete}, entries.list,
buckets.{get,testIamPermissions}, objects.{insert,upload,get,download,list,rewrite,delete,cancel}
(insert is a whole upload or the start of a resumable one, upload is one of its chunks),
projects.{get,testIamPermissions}, services.get, consumerQuotaMetrics.{list,get},
dockerImages.{get,list}, tags.get, serviceAccounts.{get,testIamPermissions}, versions.{get,access}.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import Any

from tests.fakes.clock import Clock
from tests.fakes.google_account import GoogleAccount
from tests.fakes.google_account_services import AccountServices
from tests.fakes.google_jobs import CustomJobs
from tests.fakes.google_logs import LogEntries
from tests.fakes.google_storage import GoogleObjects
from tests.fakes.google_tokens import Tokens
from tests.fakes.google_wire import read_head, refused, write_error, write_json
from tests.fakes.loopback import LoopbackService
from tests.fakes.wire import Answer, Request, ServiceError

LOCATION = "us-central1"
_OVERRIDDEN = (
    "AIPLATFORM",
    "LOGGING",
    "CLOUDRESOURCEMANAGER",
    "SERVICEUSAGE",
    "ARTIFACTREGISTRY",
    "IAM",
    "SECRETMANAGER",
    "STORAGE",
)


class VertexService(LoopbackService):
    """The service, listening from the moment it is made until :meth:`close`.

    Attributes:
        account: The project and what is in it.
        tokens: Who may call.
        jobs: The CustomJobs, and how they go.
        logs: How their lines are given out.
        objects: Cloud Storage's buckets and objects.
        bucket: A bucket of ours, named as the SDK names its own default, unless ``bare``.
    """

    object_service = "storage"

    def __init__(self, port: int = 0, clock: Clock | None = None, bare: bool = False):
        super().__init__(clock)
        self._folder = Path(tempfile.mkdtemp(prefix="vertex-service-"))
        self.account = GoogleAccount()
        self.tokens = Tokens(self.account)
        self.jobs = CustomJobs(self.account, self.clock)
        self.logs = LogEntries(self.account, self.clock, self.jobs)
        self.objects = GoogleObjects(self.account, self.clock, self._folder)
        self._operations: dict[str, Callable[[Request], dict[str, Any]]] = {
            **self.jobs.operations,
            **self.logs.operations,
            **AccountServices(self.account).operations,
        }
        self.bucket = ""
        if not bare:
            name = f"{self.account.project}-vertex-staging-{LOCATION}"
            self.bucket = self.objects.add_bucket(name).name
        self._listen(port)
        self.objects.url = self.url
        self.credentials_file = self._folder / "service-account.json"
        self.credentials_file.write_text(self.account.credentials(f"{self.url}/token"))
        (self._folder / "gcloud").mkdir()

    def close(self) -> None:
        """End the jobs that run for real, the connections, and the files."""
        self.jobs.close()
        super().close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def environment(self, location: str | None = LOCATION) -> dict[str, str]:
        """The variables that send Google's clients here, as the account's caller."""
        overrides = {
            f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}": f"{self.url}/" for name in _OVERRIDDEN
        }
        return {
            **overrides,
            "STORAGE_EMULATOR_HOST": self.url,
            # The same for the client in C++, which is pyarrow's.
            "CLOUD_STORAGE_EMULATOR_ENDPOINT": self.url,
            "GOOGLE_APPLICATION_CREDENTIALS": str(self.credentials_file),
            "GOOGLE_CLOUD_PROJECT": self.account.project,
            **({"CLOUDSDK_AI_REGION": location} if location else {}),
            # No other credentials are looked for, in a configuration or on a cloud's machine.
            "CLOUDSDK_CONFIG": str(self._folder / "gcloud"),
            "NO_GCE_CHECK": "true",
            **self._closed_outside(),
        }

    @property
    def outside(self) -> list[str]:
        """``host:port`` of each try to reach something else by HTTPS; all were refused."""
        return [one.target for one in self.received("proxy.connect")]

    def replica_environment(self) -> dict[str, str]:
        """The variables of a replica: who it is, the metadata server says."""
        host = self.url.removeprefix("http://")
        return {
            "GCE_METADATA_HOST": host,
            "GCE_METADATA_IP": host,
            "GCE_METADATA_ROOT": host,
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER": f"{self.url}/",
            "CLOUD_ML_PROJECT_ID": self.account.number,
            **self._closed_outside(),
        }

    def _closed_outside(self) -> dict[str, str]:
        return {
            "HTTPS_PROXY": self.url,
            "https_proxy": self.url,
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }

    # What the base asks.

    def _head(self, number: int, method: str, target: str, headers: Message) -> Request:
        return read_head(number, method, target, headers)

    def _error(self, request: Request, error: ServiceError) -> Answer:
        return write_error(request, error)

    def _answer(self, request: Request) -> Answer:
        if request.service == "oauth2":
            return self.tokens.token(request)
        if request.service == "metadata":
            return self.tokens.metadata(request)
        if request.service == "proxy":
            raise refused("PERMISSION_DENIED", "Nothing outside is reached.")
        if not request.operation:
            raise refused("NOT_FOUND", f"{request.method} {request.path} is not imitated")
        request.identity = self.tokens.identify(request)
        request.record.access_key = request.identity.email
        self.account.check(
            request.service,
            request.operation,
            request.places.get("project", ""),
            request.identity,
        )
        try:
            if request.service == "storage":
                return self.objects.answer(request)
            return write_json(self._operations[request.operation](request))
        except (KeyError, TypeError, ValueError) as error:
            # A request that no official client sends.
            text = f"Invalid value: {type(error).__name__}: {error}"
            raise refused("INVALID_ARGUMENT", text) from error
