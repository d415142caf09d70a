"""What would stop a job, asked of the project before anything is paid for.

The checks run side by side, each a call or two that change nothing. One that the caller may not
make is ``unknown`` and stops nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from launchers.core.cloud import asked
from launchers.core.document import at, entries, whole_number
from launchers.core.preflight import Check, answers_of, good, unknown, wrong
from launchers.core.problems import Problem
from launchers.core.provider import JobDefinition
from launchers.vertex.document import bundle_place
from launchers.vertex.machines import machine
from launchers.vertex.session import (
    GOOGLE_ERRORS,
    TIMEOUT_SECONDS,
    Session,
    is_missing,
    session_for,
)

_CREATE = "aiplatform.customJobs.create"
_ACT_AS = "iam.serviceAccounts.actAs"
_WRITE = ("storage.objects.create", "storage.objects.get")
_API = "aiplatform.googleapis.com"
# A name in Artifact Registry: LOCATION-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE[:TAG][@DIGEST].
_IMAGE = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>[^/]+)/(?P<repository>[^/]+)/"
    r"(?P<image>[^:@]+)(?::(?P<tag>[^@]+))?(?:@(?P<digest>sha256:[0-9a-f]+))?"
)
# Google's own images, which every job may read and few people may list.
_GOOGLES = ("vertex-ai", "vertex-ai-restricted", "deeplearning-platform-release")
# Quotas by accelerator. Source: Vertex AI, quotas of custom training, `custom_model_training_*`;
# Spot and flex-start use those with `preemptible_` before the accelerator.
_METRICS = {
    "NVIDIA_TESLA_T4": "nvidia_t4",
    "NVIDIA_TESLA_P4": "nvidia_p4",
    "NVIDIA_TESLA_V100": "nvidia_v100",
    "NVIDIA_TESLA_A100": "nvidia_a100",
    "NVIDIA_A100_80GB": "nvidia_a100_80gb",
    "NVIDIA_L4": "nvidia_l4",
    "NVIDIA_H100_80GB": "nvidia_h100",
    "NVIDIA_H100_MEGA_80GB": "nvidia_h100_mega",
    "NVIDIA_H200_141GB": "nvidia_h200",
    "NVIDIA_B200": "nvidia_b200",
}
_PREEMPTIBLE = ("SPOT", "FLEX_START")


def preflight(definition: JobDefinition) -> list[Problem]:
    """All answers, those that are well included. Blocks for the slowest of the calls.

    Args:
        definition: A CustomJob without placeholders.
    """
    where = definition.destination
    question = _Asked(session_for(where["project"], where["location"]), definition.document)
    checks: list[Check] = [
        question.identity,
        question.project,
        question.bucket,
        question.service_account,
        question.quota,
    ]
    if _IMAGE.fullmatch(question.image):
        checks.append(question.image_in_registry)
    return answers_of(question.session, checks)


@dataclass
class _Asked:
    """The checks; the first words of their docstrings are their names in the table."""

    session: Session
    document: Mapping[str, Any]

    def __post_init__(self) -> None:
        pools = entries(at(self.document, "jobSpec"), "workerPoolSpecs")
        self.pools = [pool for pool in pools if pool]
        first = self.pools[0] if self.pools else {}
        self.image = str(at(first, "containerSpec", "imageUri") or "")

    def identity(self) -> list[Problem]:
        """identity: a token for the application default credentials"""
        return [good("identity", asked(self.session, self.session.caller))]

    def project(self) -> list[Problem]:
        """project: cloudresourcemanager projects.testIamPermissions"""
        name = self.session.project
        try:
            may = self._may("cloudresourcemanager", f"v3/projects/{name}", [_CREATE])
        except GOOGLE_ERRORS as error:
            if not is_missing(error):
                raise
            found = f"{name} does not exist"
            return [wrong("project", found, "a project's id", "see `gcloud projects list`")]
        if may:
            return [good("project", f"{name}, the caller may create custom jobs")]
        return [
            wrong(
                "project",
                f"the caller may not create custom jobs in {name}",
                _CREATE,
                "the role Vertex AI User (roles/aiplatform.user) has it",
            )
        ]

    def bucket(self) -> list[Problem]:
        """bucket: storage buckets.get and testIamPermissions"""
        name = bundle_place(self.document).removeprefix("gs://").partition("/")[0]
        if not name:
            return [unknown("bucket", "the document names none")]
        bucket = self.session.storage().bucket(name)
        answers = []
        try:
            may = bucket.test_iam_permissions(list(_WRITE), timeout=TIMEOUT_SECONDS)
            bucket.reload(timeout=TIMEOUT_SECONDS)
        except GOOGLE_ERRORS as error:
            if not is_missing(error):
                raise
            return [self._no_bucket(name)]
        if not _serves(str(bucket.location), self.session.location):
            found = f"{name} is in {str(bucket.location).lower()}"
            answers.append(
                wrong("bucket", found, f"a bucket in {self.session.location}", "--bucket")
            )
        lacking = [one for one in _WRITE if one not in may]
        if lacking:
            found = f"the caller lacks {', '.join(lacking)} in {name}"
            fix = "the role Storage Object User (roles/storage.objectUser) has it"
            answers.append(wrong("bucket", found, "a bucket that can be written", fix))
        return answers or [good("bucket", f"{name}, in {str(bucket.location).lower()}")]

    def _no_bucket(self, name: str) -> Problem:
        make = (
            f"gcloud storage buckets create gs://{name} --project {self.session.project} "
            f"--location {self.session.location}"
        )
        return wrong(
            "bucket",
            f"{name} does not exist",
            "a bucket for code and model",
            f"make it: {make}; or name another with --bucket",
        )

    def service_account(self) -> list[Problem]:
        """service account: iam serviceAccounts.get and testIamPermissions"""
        email = str(at(self.document, "jobSpec", "serviceAccount") or "")
        if not email:
            text = "none given: the service's own agent for custom code runs the job"
            return [good("service account", text)]
        path = f"v1/projects/-/serviceAccounts/{quote(email)}"
        try:
            found = asked(self.session, lambda: self.session.get("iam", path))
        except GOOGLE_ERRORS as error:
            if not is_missing(error):
                raise
            fix = "see `gcloud iam service-accounts list`, then --service-account"
            return [wrong("service account", f"{email} does not exist", "one that does", fix)]
        if found.get("disabled"):
            return [wrong("service account", f"{email} is disabled", "one that is enabled", "")]
        if self._may("iam", path, [_ACT_AS]):
            return [good("service account", email)]
        return [
            wrong(
                "service account",
                f"the caller may not run jobs as {email}",
                _ACT_AS,
                "the role Service Account User (roles/iam.serviceAccountUser) on it has that",
            )
        ]

    def quota(self) -> list[Problem]:
        """quota: serviceusage consumerQuotaMetrics.get"""
        return [self._enough(metric, count) for metric, count in self._wanted().items()]

    def _wanted(self) -> dict[str, int]:
        """Metric -> units of it in all replicas: GPUs, or vCPUs where there are none."""
        strategy = at(self.document, "jobSpec", "scheduling", "strategy")
        kind = "preemptible_" if strategy in _PREEMPTIBLE else ""
        wanted: dict[str, int] = {}
        for pool in self.pools:
            accelerator = str(at(pool, "machineSpec", "acceleratorType") or "")
            replicas = whole_number(pool.get("replicaCount")) or 0
            if accelerator:
                known = _METRICS.get(accelerator, accelerator.lower())
                name = f"custom_model_training_{kind}{known}_gpus"
                each = whole_number(at(pool, "machineSpec", "acceleratorCount")) or 0
            else:
                row = machine(str(at(pool, "machineSpec", "machineType")))
                name = f"custom_model_training_{kind}cpus"
                each = row.vcpus if row else 0
            wanted[name] = wanted.get(name, 0) + each * replicas
        return wanted

    def _enough(self, metric: str, count: int) -> Problem:
        location = self.session.location
        path = f"v1beta1/projects/{self.session.project}/services/{_API}/consumerQuotaMetrics/"
        path += quote(f"{_API}/{metric}", safe="")
        try:
            found = asked(self.session, lambda: self.session.get("serviceusage", path))
        except GOOGLE_ERRORS as error:
            if not is_missing(error):
                raise
            return unknown("quota", f"the project has none by the name {metric}")
        limit = _limit(found, location)
        if limit is None:
            return unknown("quota", f"{metric} says nothing of {location}")
        if 0 <= limit < count:
            fix = "ask for more in the console under IAM & Admin > Quotas, or use another --machine"
            return wrong("quota", f"{limit} for {metric} in {location}", f"at least {count}", fix)
        many = "no limit" if limit < 0 else str(limit)
        return good("quota", f"{many} for {metric}, {count} needed")

    def image_in_registry(self) -> list[Problem]:
        """image: artifactregistry tags.get or dockerImages.get"""
        match = _IMAGE.fullmatch(self.image)
        assert match is not None
        if match["project"] in _GOOGLES:
            return [unknown("image", "it is Google's own")]
        base = (
            f"v1/projects/{match['project']}/locations/{match['location']}/repositories/"
            f"{match['repository']}"
        )
        package = quote(match["image"], safe="")
        path = (
            f"{base}/dockerImages/{package}@{match['digest']}"
            if match["digest"]
            else f"{base}/packages/{package}/tags/{match['tag'] or 'latest'}"
        )
        try:
            asked(self.session, lambda: self.session.get("artifactregistry", path))
        except GOOGLE_ERRORS as error:
            if not is_missing(error):
                raise
            fix = "push it: launch image build --push, or see `gcloud artifacts docker images list`"
            found = f"{self.image} does not exist"
            return [wrong("image", found, "an image in the registry", fix)]
        return [good("image", f"{match['image']} is in the registry")]

    def _may(self, service: str, path: str, permissions: list[str]) -> bool:
        body = {"permissions": permissions}
        answer = asked(
            self.session, lambda: self.session.post(service, f"{path}:testIamPermissions", body)
        )
        return set(permissions) <= set(answer.get("permissions", []))


def _serves(bucket: str, location: str) -> bool:
    """Whether a bucket's data lies where the job runs: in that region, or in a multi-region or
    dual region that may have it (us, eu, asia, nam4)."""
    where = bucket.lower()
    if where == location:
        return True
    wide = {"us": "us-", "eu": "europe-", "asia": "asia-", "nam": "us-", "eur": "europe-"}
    begins = wide.get(where.rstrip("0123456789"))
    return begins is not None and location.startswith(begins)


def _limit(metric: Mapping[str, Any], location: str) -> int | None:
    """The effective limit in a location: the bucket of that region, else the one of all; -1 for
    none. None where the answer says nothing of it."""
    limits: dict[str, int] = {}
    for quota in entries(metric, "consumerQuotaLimits"):
        for bucket in entries(quota, "quotaBuckets"):
            dimensions = at(bucket, "dimensions") or {}
            # int64 of the JSON mapping; 0 is left out.
            limits[str(dimensions.get("region", ""))] = int(bucket.get("effectiveLimit", 0))
    return limits.get(location, limits.get(""))
