"""What would stop a job, asked of the project before anything is paid for.

The checks run side by side, each a call or two that change nothing. One that the caller may not
make is ``unknown`` and stops nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from launchers.core.cloud.errors import with_retries
from launchers.core.cloud.preflight import Check, answer, answers_of, good, unknown, wrong
from launchers.core.model.document import at, entries
from launchers.core.model.jobs import JobDefinition
from launchers.core.model.problems import Problem
from launchers.vertex.document import bundle_place
from launchers.vertex.planning.account import default_bucket
from launchers.vertex.service.quotas import quota_answers
from launchers.vertex.service.registry import image_answer
from launchers.vertex.service.session import (
    GOOGLE_ERRORS,
    Session,
    is_missing,
    session_for,
)

# What a submission does, and what following it does.
_SENDS = ("aiplatform.customJobs.create", "aiplatform.customJobs.list")
_FOLLOWS = ("aiplatform.customJobs.get", "logging.logEntries.list")
_ACT_AS = "iam.serviceAccounts.actAs"
_WRITE = "storage.objects.create"
_API = "aiplatform.googleapis.com"


def preflight(definition: JobDefinition) -> list[Problem]:
    """All answers, those that are well included. Blocks for the slowest of the calls.

    Args:
        definition: A CustomJob without placeholders.
    """
    where = definition.destination
    question = Questions(session_for(where["project"], where["location"]), definition.document)
    checks: list[Check] = [
        question.identity,
        question.project,
        question.service,
        question.bucket,
        question.service_account,
        question.quota,
        question.images,
    ]
    if question.references:
        checks.append(question.secrets)
    return answers_of(question.session, checks)


@dataclass
class Questions:
    """The checks; the first words of their docstrings are their names in the table."""

    session: Session
    document: Mapping[str, Any]

    @property
    def references(self) -> list[str]:
        """The versions in Secret Manager that the ranks are given, each once."""
        pools = entries(at(self.document, "jobSpec"), "workerPoolSpecs")
        given = entries(at(pools[0], "containerSpec"), "env") if pools else []
        texts = [str(one.get("value")) for one in given if one.get("name") == "LAUNCH_SECRETS"]
        return [
            reference for text in texts for reference in dict.fromkeys(json.loads(text).values())
        ]

    def identity(self) -> list[Problem]:
        """identity: a token for the application default credentials"""
        return [good("identity", with_retries(self.session, self.session.caller))]

    def project(self) -> list[Problem]:
        """project: cloudresourcemanager projects.testIamPermissions"""
        name = self.session.project
        try:
            may = self._granted("cloudresourcemanager", f"v3/projects/{name}", [*_SENDS, *_FOLLOWS])
        except GOOGLE_ERRORS as error:
            if not is_missing(error):
                raise
            found = f"{name} does not exist"
            return [wrong("project", found, "a project's id", "see `gcloud projects list`")]
        lacking = [one for one in _SENDS if one not in may]
        if lacking:
            found = f"the caller may not create custom jobs in {name}"
            fix = "the role Vertex AI User (roles/aiplatform.user) has it"
            return [wrong("project", found, ", ".join(lacking), fix)]
        blind = [one for one in _FOLLOWS if one not in may]
        if blind:
            found = f"the caller cannot follow jobs in {name}, which will not be proven"
            fix = "roles/aiplatform.viewer and roles/logging.viewer have it"
            return [answer("project", found, ", ".join(blind), fix, "warning")]
        return [good("project", f"{name}, the caller may create custom jobs")]

    def service(self) -> list[Problem]:
        """service: serviceusage services.get"""
        path = f"v1/projects/{self.session.project}/services/{_API}"
        found = with_retries(self.session, lambda: self.session.get("serviceusage", path))
        if found.get("state") == "DISABLED":
            fix = f"gcloud services enable {_API} --project {self.session.project}"
            return [wrong("service", f"{_API} is off in the project", "Vertex AI's API", fix)]
        return [good("service", f"{_API} is on")]

    def bucket(self) -> list[Problem]:
        """bucket: storage buckets.get and testIamPermissions"""
        name = bundle_place(self.document).removeprefix("gs://").partition("/")[0]
        return self.bucket_named(name) if name else [unknown("bucket", "the document names none")]

    def bucket_named(self, name: str) -> list[Problem]:
        """bucket: the same, of a name"""
        bucket = self.session.storage().bucket(name)
        how = {"timeout": self.session.seconds, "retry": None}
        try:
            may = with_retries(self.session, lambda: bucket.test_iam_permissions([_WRITE], **how))
        except GOOGLE_ERRORS as error:
            if not is_missing(error):
                raise
            return [self._no_bucket(name)]
        answers = []
        if _WRITE not in may:
            fix = "the role Storage Object User (roles/storage.objectUser) has it"
            expected = "a bucket that can be written"
            answers.append(wrong("bucket", f"the caller lacks {_WRITE} in {name}", expected, fix))
        try:
            with_retries(self.session, lambda: bucket.reload(**how))
        except GOOGLE_ERRORS as error:
            if not self.session.is_denied(error):
                raise
            seen = f"{name} can be written; whose it is and where cannot be seen"
            return answers or [unknown("bucket", seen)]
        answers += self._misplaced(bucket)
        return answers or [good("bucket", f"{name}, in {str(bucket.location).lower()}")]

    def _misplaced(self, bucket: Any) -> list[Problem]:
        """What is wrong with where the bucket is, and whose."""
        answers, location = [], str(bucket.location).lower()
        if not _serves(location, self.session.location):
            found, expected = f"{bucket.name} is in {location}", f"one in {self.session.location}"
            answers.append(wrong("bucket", found, expected, "--bucket"))
        # Anybody may have made a bucket of the default name, to read what is stored there.
        if bucket.name == default_bucket(self.session.project, self.session.location):
            number = self._project_number()
            if not number:
                answers.append(unknown("bucket", f"whether {bucket.name} is the project's own"))
            elif number != str(bucket.project_number):
                found = f"{bucket.name} belongs to another project"
                answers.append(wrong("bucket", found, "a bucket of the project", "--bucket"))
        return answers

    def _project_number(self) -> str:
        """Empty where the caller may not know it."""
        path = f"v3/projects/{self.session.project}"
        try:
            found = with_retries(
                self.session, lambda: self.session.get("cloudresourcemanager", path)
            )
        except GOOGLE_ERRORS:
            return ""
        return str(found.get("name", "")).rpartition("/")[2]

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
            found = with_retries(self.session, lambda: self.session.get("iam", path))
        except GOOGLE_ERRORS as error:
            if not is_missing(error):
                raise
            fix = "see `gcloud iam service-accounts list`, then --service-account"
            return [wrong("service account", f"{email} does not exist", "one that does", fix)]
        if found.get("disabled"):
            fix = f"gcloud iam service-accounts enable {email}"
            return [wrong("service account", f"{email} is disabled", "one that is enabled", fix)]
        if _ACT_AS in self._granted("iam", path, [_ACT_AS]):
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
        return quota_answers(self.session, self.document)

    def images(self) -> list[Problem]:
        """image: artifactregistry tags.get or dockerImages.get"""
        pools = entries(at(self.document, "jobSpec"), "workerPoolSpecs")
        uris = dict.fromkeys(str(at(pool, "containerSpec", "imageUri") or "") for pool in pools)
        return [image_answer(self.session, uri) for uri in uris if uri]

    def secrets(self) -> list[Problem]:
        """secret: secretmanager versions.get"""
        return [self._secret(reference) for reference in self.references]

    def _secret(self, reference: str) -> Problem:
        try:
            found = with_retries(
                self.session, lambda: self.session.get("secretmanager", f"v1/{reference}")
            )
        except GOOGLE_ERRORS as error:
            if not is_missing(error):
                raise
            fix = "see `gcloud secrets versions list SECRET`"
            return wrong("secret", f"{reference} does not exist", "a version that does", fix)
        state = str(found.get("state", "")).lower()
        if state != "enabled":
            fix = "add a version: gcloud secrets versions add SECRET --data-file=-"
            return wrong("secret", f"{reference} is {state}", "a version that is enabled", fix)
        reader = "roles/secretmanager.secretAccessor"
        return good("secret", f"{reference}; the job's service account needs {reader} on it")

    def _granted(self, service: str, path: str, permissions: list[str]) -> list[str]:
        """Which of the permissions the caller has."""
        body = {"permissions": permissions}
        post = partial(self.session.post, service, f"{path}:testIamPermissions", body)
        found: list[str] = with_retries(self.session, post).get("permissions", [])
        return found


def _serves(bucket: str, location: str) -> bool:
    """Whether a bucket's data lies where the job runs: in that region, or in a multi-region or
    dual region that may have it (us, eu, asia, nam4)."""
    if bucket == location:
        return True
    wide = {"us": "us-", "eu": "europe-", "asia": "asia-", "nam": "us-", "eur": "europe-"}
    begins = wide.get(bucket.rstrip("0123456789"))
    return begins is not None and location.startswith(begins)
