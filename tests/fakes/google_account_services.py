"""The services that a preflight asks, and Secret Manager, which a replica asks.

Source: Google, REST references of Cloud Resource Manager v3, Service Usage v1beta1, Artifact
Registry v1, IAM v1 and Secret Manager v1.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import google_crc32c

from tests.fakes.google_account import QUOTAS, DockerImage, GoogleAccount
from tests.fakes.google_wire import read_json, refused
from tests.fakes.wire import Request

Operation = Callable[[Request], dict[str, Any]]
_AI_PLATFORM = "aiplatform.googleapis.com"
_BEGIN = "2026-01-01T00:00:00Z"


class AccountServices:
    """Answers from a :class:`GoogleAccount`."""

    def __init__(self, account: GoogleAccount):
        self._account = account
        self.operations: dict[str, Operation] = {
            "projects.get": self._project,
            "projects.testIamPermissions": self._permissions,
            "services.get": self._service,
            "consumerQuotaMetrics.list": self._metrics,
            "consumerQuotaMetrics.get": self._metric,
            "dockerImages.get": self._image,
            "dockerImages.list": self._images,
            "tags.get": self._tag,
            "serviceAccounts.get": self._service_account,
            "serviceAccounts.testIamPermissions": self._account_permissions,
            "versions.access": self._secret,
            "versions.get": self._version,
        }

    def _project(self, request: Request) -> dict[str, Any]:
        account = self._account
        if request.path.startswith("/v1/"):
            return {
                "projectNumber": account.number,
                "projectId": account.project,
                "lifecycleState": "ACTIVE",
                "name": account.project,
                "createTime": _BEGIN,
            }
        return {
            "name": f"projects/{account.number}",
            "projectId": account.project,
            "state": "ACTIVE",
            "displayName": account.project,
            "createTime": _BEGIN,
            "updateTime": _BEGIN,
            "etag": 'W/"0"',
        }

    def _permissions(self, request: Request) -> dict[str, Any]:
        return _granted(request, request.identity.denied)

    def _service(self, request: Request) -> dict[str, Any]:
        api = request.places["api"]
        return {
            "name": f"projects/{self._account.number}/services/{api}",
            "config": {"name": api},
            "state": "DISABLED" if api in self._account.disabled_apis else "ENABLED",
            "parent": f"projects/{self._account.number}",
        }

    def _metrics(self, request: Request) -> dict[str, Any]:
        size = int(request.query.get("pageSize") or 1000)
        first = int(request.query.get("pageToken") or 0)
        names = sorted({*QUOTAS, *(metric for metric, _ in self._account.quotas)})
        if request.places["api"] != _AI_PLATFORM:
            names = []
        page = [self._told(name) for name in names[first : first + size]]
        more = {"nextPageToken": str(first + size)} if first + size < len(names) else {}
        return {**({"metrics": page} if page else {}), **more}

    def _metric(self, request: Request) -> dict[str, Any]:
        metric = request.places["metric"].removeprefix(f"{_AI_PLATFORM}/")
        known = {*QUOTAS, *(name for name, _ in self._account.quotas)}
        if request.places["api"] != _AI_PLATFORM or metric not in known:
            raise refused("NOT_FOUND", f"Quota metric {metric} was not found.")
        return self._told(metric)

    def _told(self, metric: str) -> dict[str, Any]:
        """A metric with its limit in each location; the first bucket is every other location."""
        full = f"{_AI_PLATFORM}/{metric}"
        parent = f"projects/{self._account.number}/services/{_AI_PLATFORM}"
        name = f"{parent}/consumerQuotaMetrics/{full.replace('/', '%2F')}"
        default = QUOTAS.get(metric, 0)
        buckets = [_bucket(default, default)]
        buckets += [
            {**_bucket(limit, default), "dimensions": {"region": location}}
            for (one, location), limit in sorted(self._account.quotas.items())
            if one == metric
        ]
        return {
            "name": name,
            "displayName": metric.replace("_", " ").capitalize(),
            "metric": full,
            "unit": "1",
            "consumerQuotaLimits": [
                {
                    "name": f"{name}/limits/%2Fproject%2Fregion",
                    "unit": "1/{project}/{region}",
                    "isPrecise": True,
                    "metric": full,
                    "quotaBuckets": buckets,
                }
            ],
        }

    def _image(self, request: Request) -> dict[str, Any]:
        image, _, digest = request.places["image"].partition("@")
        for version in self._versions(request, image):
            if version.digest == digest:
                return self._described(request, image, version)
        raise _no_entity()

    def _images(self, request: Request) -> dict[str, Any]:
        location, repository = request.region, request.places["repository"]
        told = [
            self._described(request, image, version)
            for (where, which, image), versions in sorted(self._account.images.items())
            if (where, which) == (location, repository)
            for version in versions
        ]
        if not told:
            raise _no_entity()
        return {"dockerImages": told}

    def _tag(self, request: Request) -> dict[str, Any]:
        package, tag = request.places["package"], request.places["tag"]
        where = f"{self._repository(request)}/packages/{package.replace('/', '%2F')}"
        for version in self._versions(request, package):
            if tag in version.tags:
                return {
                    "name": f"{where}/tags/{tag}",
                    "version": f"{where}/versions/{version.digest}",
                }
        raise _no_entity()

    def _versions(self, request: Request, image: str) -> list[DockerImage]:
        key = (request.region, request.places["repository"], image)
        return self._account.images.get(key, [])

    def _described(self, request: Request, image: str, version: DockerImage) -> dict[str, Any]:
        name = f"{image}@{version.digest}"
        registry = f"{request.region}-docker.pkg.dev/{self._account.project}"
        return {
            "name": f"{self._repository(request)}/dockerImages/{name}",
            "uri": f"{registry}/{request.places['repository']}/{name}",
            "tags": list(version.tags),
            "imageSizeBytes": str(version.size),
            "uploadTime": _BEGIN,
            "updateTime": _BEGIN,
            "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
        }

    def _repository(self, request: Request) -> str:
        place = f"projects/{self._account.project}/locations/{request.region}"
        return f"{place}/repositories/{request.places['repository']}"

    def _service_account(self, request: Request) -> dict[str, Any]:
        email = self._known_email(request)
        number = int(hashlib.sha256(email.encode()).hexdigest()[:16], 16)
        return {
            "name": f"projects/{self._account.project}/serviceAccounts/{email}",
            "projectId": self._account.project,
            "uniqueId": f"1{number:020d}",
            "email": email,
            "etag": "MDEwMjE5MjA=",
            "oauth2ClientId": f"1{number:020d}",
            **({"disabled": True} if self._account.service_accounts[email].disabled else {}),
        }

    def _account_permissions(self, request: Request) -> dict[str, Any]:
        self._known_email(request)
        return _granted(request, request.identity.denied)

    def _known_email(self, request: Request) -> str:
        email = request.places["email"]
        if email not in self._account.service_accounts:
            raise refused("NOT_FOUND", f"Unknown service account: {email}")
        return email

    def _version(self, request: Request) -> dict[str, Any]:
        name, data = self._found_version(request)
        state = "ENABLED" if data is not None else "DESTROYED"
        return {"name": name, "createTime": _BEGIN, "state": state, "etag": '"1"'}

    def _found_version(self, request: Request) -> tuple[str, bytes | None]:
        """The full name of a secret's version, and its value; None for a destroyed one."""
        name, version = request.places["secret"], request.places["version"]
        full = f"projects/{self._account.number}/secrets/{name}"
        versions = self._account.secrets.get(name)
        if not versions:
            raise refused("NOT_FOUND", f"Secret [{full}] not found or has no versions.")
        number = len(versions) if version == "latest" else int(version)
        if not 1 <= number <= len(versions):
            raise refused("NOT_FOUND", f"Secret Version [{full}/versions/{version}] not found.")
        return f"{full}/versions/{number}", versions[number - 1]

    def _secret(self, request: Request) -> dict[str, Any]:
        name, data = self._found_version(request)
        if data is None:
            raise refused("FAILED_PRECONDITION", f"Secret Version [{name}] is in DESTROYED state.")
        return {
            "name": name,
            "payload": {
                "data": base64.b64encode(data).decode(),
                "dataCrc32c": str(google_crc32c.value(data)),
            },
        }


def _bucket(limit: int, default: int) -> dict[str, Any]:
    """As the JSON mapping writes it: integers as texts, and none that is 0."""
    said = {"effectiveLimit": limit, "defaultLimit": default}
    return {name: str(number) for name, number in said.items() if number}


def _granted(request: Request, denied: set[str]) -> dict[str, Any]:
    asked: Mapping[str, Any] = read_json(request)
    given = [one for one in asked.get("permissions", []) if one not in denied]
    return {"permissions": given} if given else {}


def _no_entity() -> Exception:
    return refused("NOT_FOUND", "Requested entity was not found.")
