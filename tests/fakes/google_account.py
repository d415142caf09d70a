"""The fake Google Cloud's project: who may do what, quotas, images, secrets."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.fakes.google_wire import refused
from tests.fakes.wire import ServiceError

# What a caller's permission to do something is called, where it is not the operation's own name.
PERMISSIONS = {
    "entries.list": "logging.logEntries.list",
    "objects.insert": "storage.objects.create",
    "objects.upload": "storage.objects.create",
    "objects.download": "storage.objects.get",
    "objects.rewrite": "storage.objects.create",
    "projects.get": "resourcemanager.projects.get",
    "consumerQuotaMetrics.list": "serviceusage.quotas.get",
    "consumerQuotaMetrics.get": "serviceusage.quotas.get",
    "dockerImages.get": "artifactregistry.dockerimages.get",
    "dockerImages.list": "artifactregistry.dockerimages.list",
    "tags.get": "artifactregistry.tags.get",
    "versions.access": "secretmanager.versions.access",
}
# Asked of anybody, and answered with what they may do; and what is no permission at all.
_FREE = ("testIamPermissions", "objects.cancel")
# More than any test uses; Google's own limits for a new project are 0 or 1.
_PLENTY = 100_000
_ACCELERATORS = (
    *("t4", "p4", "v100", "a100", "a100_80gb"),
    *("l4", "h100", "h100_mega", "h200", "b200"),
)
QUOTAS = {
    **{
        f"custom_model_training_{kind}{family}cpus": _PLENTY
        for kind in ("", "preemptible_")
        for family in ("", "n2_", "c2_")
    },
    **{
        f"custom_model_training_{kind}nvidia_{name}_gpus": _PLENTY
        for kind in ("", "preemptible_")
        for name in _ACCELERATORS
    },
}
_PERMISSION_OF_ERROR = "type.googleapis.com/google.rpc.ErrorInfo"


@dataclass
class Identity:
    """A service account that can call.

    Attributes:
        denied: The permissions that it lacks; it has all others.
        disabled: Whether its project has switched it off.
    """

    email: str
    denied: set[str] = field(default_factory=set)
    disabled: bool = False


@dataclass
class DockerImage:
    """An image in Artifact Registry: its digest (``sha256:...``) and tags."""

    digest: str
    tags: list[str] = field(default_factory=list)
    size: int = 1 << 30


class GoogleAccount:
    """One project of ours, and what is in it besides jobs, logs and objects.

    Attributes:
        project: Its id.
        number: Its number, a string of digits.
        caller: Who a client is by :meth:`credentials`.
        replica: Who a replica is by the metadata server.
        service_accounts: All of the project, by their addresses.
        other_projects: Projects that exist and are not ours, id -> number.
        quotas: (metric without its service, location) -> limit; :data:`QUOTAS` where none is said.
        images: (location, repository, image) -> its versions.
        secrets: Name -> its versions, the oldest first; None for a destroyed one.
        disabled_apis: ``aiplatform.googleapis.com`` and the like.
    """

    def __init__(self, project: str = "training-project", number: str = "123456789012"):
        self.project, self.number = project, number
        self.caller = Identity(f"launcher@{project}.iam.gserviceaccount.com")
        self.replica = Identity(f"{number}-compute@developer.gserviceaccount.com")
        self.service_accounts = {one.email: one for one in (self.caller, self.replica)}
        self.other_projects = {"somebody-elses": "999999999999"}
        self.quotas: dict[tuple[str, str], int] = {}
        self.images: dict[tuple[str, str, str], list[DockerImage]] = {}
        self.secrets: dict[str, list[bytes | None]] = {}
        self.disabled_apis: set[str] = set()

    def add_service_account(self, name: str) -> Identity:
        """One more in the project; ``name`` is the part before the @."""
        identity = Identity(f"{name}@{self.project}.iam.gserviceaccount.com")
        self.service_accounts[identity.email] = identity
        return identity

    def add_image(
        self, location: str, repository: str, image: str, digest: str, *tags: str
    ) -> DockerImage:
        """A version of an image."""
        added = DockerImage(digest, list(tags))
        self.images.setdefault((location, repository, image), []).append(added)
        return added

    def add_secret(self, name: str, value: bytes | str) -> str:
        """A secret's next version; gives its reference."""
        versions = self.secrets.setdefault(name, [])
        versions.append(value.encode() if isinstance(value, str) else value)
        return f"projects/{self.project}/secrets/{name}/versions/{len(versions)}"

    def deny(self, *permissions: str) -> None:
        """The caller lacks these from now on, ``aiplatform.customJobs.create`` and the like."""
        self.caller.denied.update(permissions)

    def quota(self, metric: str, location: str) -> int:
        """The limit of a metric, in whole units."""
        return self.quotas.get((metric, location), QUOTAS.get(metric, 0))

    def credentials(self, token_uri: str) -> str:
        """The service account's file, as JSON."""
        return json.dumps(
            {
                "type": "service_account",
                "project_id": self.project,
                "private_key_id": "0" * 40,
                "private_key": private_key_text(),
                "client_email": self.caller.email,
                "client_id": "100000000000000000000",
                "token_uri": token_uri,
                "universe_domain": "googleapis.com",
            }
        )

    def check(self, service: str, operation: str, project: str, who: Identity) -> None:
        """Whether ``who`` may do that in that project, named by its id or number.

        Raises:
            ServiceError: Not ours or unknown, an API that is off, or a permission that is lacking.
        """
        permission = permission_of(service, operation)
        # IAM takes - for whatever project a service account is of.
        if project and project not in (self.project, self.number, "-"):
            raise denied(permission, f"//{service}.googleapis.com/projects/{project}")
        api = f"{service}.googleapis.com"
        if api in self.disabled_apis:
            raise _disabled(api, self.number)
        if operation.endswith(_FREE):
            return
        if permission in who.denied:
            raise denied(permission, f"//{api}/projects/{project or self.project}")


def permission_of(service: str, operation: str) -> str:
    """``aiplatform.customJobs.create``."""
    return PERMISSIONS.get(operation, f"{service}.{operation}")


def denied(permission: str, resource: str) -> ServiceError:
    """Google's answer, which does not tell what is not there from what is not allowed."""
    return refused(
        "PERMISSION_DENIED",
        f"Permission '{permission}' denied on resource '{resource}' (or it may not exist).",
        [
            {
                "@type": _PERMISSION_OF_ERROR,
                "reason": "IAM_PERMISSION_DENIED",
                "domain": resource.removeprefix("//").partition("/")[0],
                "metadata": {"permission": permission, "resource": resource},
            }
        ],
    )


def _disabled(api: str, number: str) -> ServiceError:
    return refused(
        "PERMISSION_DENIED",
        f"{api} has not been used in project {number} before or it is disabled. Enable it by "
        f"visiting https://console.developers.google.com/apis/api/{api}/overview?project={number} "
        "then retry. If you enabled this API recently, wait a few minutes for the action to "
        "propagate to our systems and retry.",
        [
            {
                "@type": _PERMISSION_OF_ERROR,
                "reason": "SERVICE_DISABLED",
                "domain": "googleapis.com",
                "metadata": {"service": api, "consumer": f"projects/{number}"},
            }
        ],
    )


@functools.lru_cache(maxsize=1)
def private_key() -> rsa.RSAPrivateKey:
    """Made for this process; one is enough for all its services. A short one: Google's client
    checks it whenever it reads it, thousands of times, which takes six times as long for 2048."""
    return rsa.generate_private_key(public_exponent=65537, key_size=1024)


@functools.lru_cache(maxsize=1)
def private_key_text() -> str:
    """The key as PEM."""
    return (
        private_key()
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        .decode()
    )
