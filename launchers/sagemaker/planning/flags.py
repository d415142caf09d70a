"""What flags of `launch sagemaker` may not say, and may not say together.

Only what the rendered document cannot show any more, or would show far from the flag: the rest
is the document's rules.
"""

from __future__ import annotations

import re

from launchers.core.model.problems import Problem
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import CODE_CHANNEL
from launchers.sagemaker.options import SageMakerJob
from launchers.sagemaker.planning.account import BUCKET_VARIABLE, Account

# S3's bucket names: no two dots in a row, and none that looks like an address.
_BUCKET = re.compile(r"(?!.*\.\.)(?!\d+(\.\d+){3}$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
ECR_IMAGE = re.compile(r"\d{12}\.dkr\.ecr(-fips)?\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/.+")


def problems_in_flags(job: SageMakerJob, account: Account) -> list[Problem]:
    """All of them."""
    return [*_bucket(account), *_channels(job), *_metrics(job), *_registry(job)]


def _bucket(account: Account) -> list[Problem]:
    if _BUCKET.fullmatch(account.bucket):
        return []
    path = account.bucket_origin if account.bucket_origin == BUCKET_VARIABLE else "--bucket"
    name, slash, _ = account.bucket.partition("/")
    fix = ""
    if slash and _BUCKET.fullmatch(name):
        fix = f"--bucket {name}; --output-path and --checkpoint take folders"
    elif _BUCKET.fullmatch(account.bucket.lower().replace("_", "-")):
        fix = "no bucket of S3 has capitals or underscores"
    return [RULES["bucket-name"].at(path, account.bucket[:80], fix=fix)]


def _channels(job: SageMakerJob) -> list[Problem]:
    if CODE_CHANNEL not in job.options.channels:
        return []
    found = "a name that the launcher takes"
    return [RULES["channel-reserved"].at(f"--channel {CODE_CHANNEL}", found)]


def _metrics(job: SageMakerJob) -> list[Problem]:
    problems = []
    for name, pattern in job.options.metrics.items():
        try:
            groups = re.compile(_as_python(pattern)).groups
        except re.error as error:
            found = f"{pattern[:60]!r}: {error}"
        else:
            found = "" if groups else f"{pattern[:60]!r}, which has no group"
        if found:
            problems.append(RULES["metric-pattern"].at(f"--metric {name}", found))
    return problems


def _as_python(pattern: str) -> str:
    """A pattern whose groups Python counts, of one in the service's dialect, which is Java's: named
    groups, classes by property, possessive quantifiers."""
    pattern = re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", pattern)
    pattern = re.sub(r"\\[pP]\{\w+\}", r"\\w", pattern)
    return re.sub(r"(?<!\\)([*+?}])\+", r"\1", pattern)


def _registry(job: SageMakerJob) -> list[Problem]:
    options = job.options
    if options.private_registry is None:
        if job.image is None or ECR_IMAGE.fullmatch(job.image):
            return []
        # A rehearsal takes it; before a job is sent, the preflight stops there.
        return [RULES["image-place"].at("--image", job.image[:80], severity="warning")]
    path, problems = "--private-registry", []
    if job.image is None:
        expected, found = "the image in it: --image", "without --image"
        problems.append(RULES["private-registry"].at(path, found, expected))
    elif ECR_IMAGE.fullmatch(job.image):
        found = "with an image in Amazon ECR"
        problems.append(RULES["private-registry"].at(path, found, "no --private-registry"))
    if not options.subnets:
        expected = "the VPC that reaches it: --subnet and --security-group"
        problems.append(RULES["private-registry"].at(path, "without --subnet", expected))
    return problems
