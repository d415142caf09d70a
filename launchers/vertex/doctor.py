"""What Vertex AI jobs need, before any job: the half that asks nobody."""

from __future__ import annotations

import os
from dataclasses import replace

from launchers.core.model.findings import Finding, finding, well
from launchers.core.prerequisites import Check, Doctor
from launchers.core.sdk.installed import installed_version
from launchers.core.sdk.table import sdk_findings
from launchers.core.spec.job import JobSpec
from launchers.core.strategies import AUTO, FIRST, named
from launchers.vertex.catalogue import RULES
from launchers.vertex.planning.account import (
    KEY_FILE,
    Account,
    account_of,
    credentials_file,
)
from launchers.vertex.planning.image_choice import choose_image, image_missing
from launchers.vertex.tables.locations import load, suggestion

_FEATURE = "vertex.request"


class VertexDoctor(Doctor):
    """The project that Vertex AI jobs run in."""

    title = "Vertex AI (launch vertex)"

    def checks(self, job: JobSpec, offline: bool) -> list[Check]:
        """SDKs, location and image by themselves; the project in one, since each answer needs the
        one before."""
        account = account_of(job)

        def ask() -> list[Finding]:
            if not installed_version("google-cloud-aiplatform"):
                return []  # which the SDKs' own line says
            from launchers.vertex.service.doctor import project_findings

            return project_findings(account, job.options.service_account or "", offline)

        return [
            Check("SDKs", lambda: sdk_findings(_FEATURE)),
            Check("location", lambda: [_location(account)]),
            Check("image", lambda: [_image(job, account)]),
            Check("the project", ask),
        ]

    def unused(self, job: JobSpec) -> str:
        """See :class:`Doctor`."""
        account = account_of(job)
        said = not account.location_is_assumed or not account.project_is_placeholder
        if said or os.environ.get(KEY_FILE) or credentials_file().is_file():
            return ""
        return "no project, location or credentials"


def _location(account: Account) -> Finding:
    if account.location_is_assumed:
        fix = "give --location, set GOOGLE_CLOUD_REGION, or gcloud's ai/region"
        problem = RULES["location-missing"].at("location", "none", fix=fix)
        return finding(problem, run=f"gcloud config set ai/region {account.location}")
    text = f"{account.location} ({account.location_origin})"
    if account.location in load():
        return well("location", text)
    near = suggestion(account.location)
    return finding(RULES["location"].at("location", text, fix=near, severity="warning"))


def _image(job: JobSpec, account: Account) -> Finding:
    strategy = named(FIRST if job.strategy in (None, AUTO) else job.strategy)
    found = choose_image(job, strategy)
    for problem in found.problems:
        return finding(problem, "image")
    if found.is_placeholder:
        problem = image_missing(account, strategy.name)
        return finding(replace(problem, severity="warning"), "image")
    return well("image", f"{found.uri} ({found.origin})")
