"""What SageMaker jobs need, before any job: the half that asks nobody."""

from __future__ import annotations

import os

from launchers.core.model.findings import Finding, finding, well
from launchers.core.model.problems import did_you_mean
from launchers.core.paths import at_home
from launchers.core.prerequisites import Check, Doctor
from launchers.core.sdk.installed import installed_version
from launchers.core.sdk.table import sdk_findings
from launchers.core.spec.job import JobSpec
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.planning.account import Account, account_of
from launchers.sagemaker.tables.images import load

_FEATURE = "sagemaker.request"
# Where credentials may come from, besides the machine itself.
_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_FILES = (
    ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
    ("AWS_CONFIG_FILE", "~/.aws/config"),
)


class SageMakerDoctor(Doctor):
    """The account that SageMaker jobs run in."""

    title = "Amazon SageMaker (launch sagemaker)"

    def checks(self, job: JobSpec, offline: bool) -> list[Check]:
        """SDKs and region by themselves; the account in one, since each answer needs the one
        before."""
        account = account_of(job)

        def ask() -> list[Finding]:
            if not installed_version("botocore"):
                return []  # which the SDKs' own line says
            from launchers.sagemaker.service.doctor import account_findings

            return account_findings(account, offline)

        return [
            Check("SDKs", lambda: sdk_findings(_FEATURE)),
            Check("region", lambda: [_region(account)]),
            Check("the account", ask),
        ]

    def unused(self, job: JobSpec) -> str:
        """See :class:`Doctor`."""
        account = account_of(job)
        said = account.region_origin != "assumed" or not account.role_is_placeholder
        has_file = any(at_home(os.environ.get(name, usual)).is_file() for name, usual in _FILES)
        if said or has_file or any(os.environ.get(name) for name in _VARIABLES):
            return ""
        return "no region, role, profile or key"


def _region(account: Account) -> Finding:
    if account.region_origin == "assumed":
        problem = RULES["region-missing"].at(
            "region",
            "none",
            "where jobs run",
            "give --region, set AWS_REGION, or `region` in the profile file",
        )
        return finding(problem, run=f"export AWS_REGION={account.region}")
    text = f"{account.region} ({account.region_origin})"
    known = load()["registries"]
    if account.region in known:
        return well("region", text)
    near = did_you_mean(account.region, known)
    expected = "a region that this version knows"
    return finding(RULES["preflight-region"].at("region", text, expected, near, "warning"))
