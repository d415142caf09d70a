"""What flags of `launch vertex` may not say, and may not say together.

Only what the rendered document cannot show any more, or would show far from the flag: the rest
is the document's rules.
"""

from __future__ import annotations

import re
from typing import Any

from launchers.core.model.problems import Problem, did_you_mean
from launchers.core.spec.value_types import Size
from launchers.vertex.catalogue import RULES
from launchers.vertex.document import (
    ANY_RESERVATION,
    BOOT_DISK_GB,
    BOOT_DISK_TYPES,
    MOUNT,
    OUR_LABELS,
    SCHEME,
)
from launchers.vertex.options import VertexJob
from launchers.vertex.planning.account import BUCKET_VARIABLE, Account
from launchers.vertex.tables import locations

_SIZE = Size(*BOOT_DISK_GB)
# Resource Manager's projects: 6 to 30 characters; an old one may be example.com:project.
_PROJECT = re.compile(r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")
_ZONE = re.compile(r"([a-z]+-[a-z]+\d{1,2})-[a-z]")
# Cloud Storage's bucket names; those with dots may be longer than 63.
_BUCKET = re.compile(r"[a-z0-9][a-z0-9_.-]{1,220}[a-z0-9]")
# A context of Vertex ML Metadata, which an experiment is.
_CONTEXT = re.compile(r"[a-z0-9][a-z0-9-]{0,127}")
# Of the pools with ranks; a reservation's name and the reduction servers have flags of their own.
_HARDWARE = (
    r"Specs\[[01]\]\.(machineSpec(?!\.reservationAffinity\.values)|diskSpec)"
    r"|\.env\.LAUNCH_|scheduling\.strategy"
)
_PLACES = r"baseOutputDirectory|\.env\.LAUNCH_"
_WORDS = r"containerSpec\.(args|command)"
# See Definer.knock_on_errors.
KNOCK_ON_ERRORS = {
    "gpus-missing": _HARDWARE,
    "machine-gpus": _HARDWARE,
    "machine-unknown": _HARDWARE,
    "accelerator-text": _HARDWARE,
    "accelerator-machine": _HARDWARE,
    "ranks-above-gpus": r"\.env\.LAUNCH_",
    "boot-disk": r"diskSpec",
    "image-address": r"imageUri",
    "bucket-address": _PLACES,
    "bucket-folder": _PLACES,
    "location": r"encryptionSpec|tensorboard|networkAttachment|reservationAffinity\.values",
    "spot-flex-start": r"scheduling",
    "max-wait": r"scheduling\.maxWait",
    "network-twice": r"\.network|pscInterfaceConfig|reservedIpRanges",
    "credential": _WORDS,
    "script-missing": _WORDS,
    "script-outside-source": _WORDS,
    "script-and-module": _WORDS,
    "module-missing": _WORDS,
}


def problems_in_flags(job: VertexJob, account: Account) -> list[Problem]:
    """All of them."""
    return [
        *problems_in_account(account),
        *_place_problems(job),
        *_scheduling_problems(job),
        *_label_problems(job),
        *boot_disk(job.options.boot_disk)[1],
        *boot_disk(job.options.reduction_server_disk, "--reduction-server-disk")[1],
        *_reservation_problems(job),
        *_experiment_problems(job),
        *_reduction_problems(job),
    ]


def boot_disk(
    text: str | None, flag: str = "--boot-disk"
) -> tuple[dict[str, Any] | None, list[Problem]]:
    """``pd-ssd:200`` as the document's diskSpec; a size alone leaves the type to the service, whose
    default goes by the machine."""
    if text is None:
        return None, []
    kind, colon, size = text.rpartition(":")
    if size in BOOT_DISK_TYPES and kind:
        fix = f"{flag} {size}:{kind}"
        return None, [RULES["boot-disk"].at(flag, text, "TYPE:GB", fix)]
    kind = size if size in BOOT_DISK_TYPES else kind
    problems = []
    if colon and kind not in BOOT_DISK_TYPES:
        expected = "one of " + ", ".join(BOOT_DISK_TYPES)
        problems.append(
            RULES["boot-disk"].at(flag, kind or text, expected, did_you_mean(kind, BOOT_DISK_TYPES))
        )
    try:
        named = {"bootDiskType": kind} if kind else {}
        return {**named, "bootDiskSizeGb": _SIZE.parse(size)}, problems
    except ValueError:
        usual = kind or BOOT_DISK_TYPES[0]
        fix = f"{flag} {usual}:{BOOT_DISK_GB[0]}" if usual in BOOT_DISK_TYPES else ""
        expected = f"TYPE:GB, from {BOOT_DISK_GB[0]} to {BOOT_DISK_GB[1]} GB"
        problems.append(RULES["boot-disk"].at(flag, text, expected, fix))
    return None, problems


def problems_in_account(account: Account) -> list[Problem]:
    """Project, location and bucket."""
    problems = []
    if not _PROJECT.fullmatch(account.project):
        problems.append(
            RULES["project-id"].at(
                account.project_origin, account.project, fix=_project_fix(account.project)
            )
        )
    zone = _ZONE.fullmatch(account.location)
    if account.location not in locations.load():
        problems.append(
            RULES["location"].at(
                account.location_origin,
                f"{account.location}, a zone" if zone else account.location,
                "a location of Vertex AI, such as us-central1",
                f"--location {zone[1]}" if zone else locations.suggestion(account.location),
            )
        )
    return [*problems, *_bucket_problems(account)]


def _project_fix(project: str) -> str:
    if project.isdecimal():
        return f"that is its number: gcloud projects describe {project} --format 'value(projectId)'"
    return f"--project {project.lower()}" if _PROJECT.fullmatch(project.lower()) else ""


def _bucket_problems(account: Account) -> list[Problem]:
    if _BUCKET.fullmatch(account.bucket):
        return []
    # What the user wrote: the account has it without gs://.
    path = account.bucket_origin if account.bucket_origin == BUCKET_VARIABLE else "--bucket"
    name, slash, _ = account.bucket.partition("/")
    fix = ""
    if account.bucket.startswith("s3://"):
        fix = "one of Amazon S3 cannot be mounted; `gcloud storage buckets create` makes one"
    elif slash and _BUCKET.fullmatch(name):
        fix = f"--bucket gs://{name}; --output-path and --checkpoint take folders"
    elif account.bucket.startswith("gs:"):
        fix = f"--bucket gs://{account.bucket.removeprefix('gs:').strip('/')}"
    elif _BUCKET.fullmatch(account.bucket.lower()):
        fix = "a bucket's name has lower case letters, digits, hyphens, underscores and dots"
    return [RULES["bucket-address"].at(path, account.bucket, fix=fix)]


def _place_problems(job: VertexJob) -> list[Problem]:
    problems = []
    if job.output_path is not None and not _is_folder(job.output_path, SCHEME):
        problems.append(_no_folder("--output-path", job.output_path, ""))
    if job.checkpoint is not None and not _is_folder(job.checkpoint, SCHEME, MOUNT):
        why = "replicas share only what lies in a bucket"
        problems.append(_no_folder("--checkpoint", job.checkpoint, why))
    return problems


def _is_folder(place: str, *starts: str) -> bool:
    return any(
        place.startswith(start) and _BUCKET.match(place[len(start) :]) is not None
        for start in starts
    )


def _no_folder(flag: str, place: str, fix: str) -> Problem:
    return RULES["bucket-folder"].at(flag, place, fix=fix)


def _scheduling_problems(job: VertexJob) -> list[Problem]:
    problems = []
    if job.spot and job.options.flex_start:
        problems.append(RULES["spot-flex-start"].at("--flex-start", "together with --spot"))
    if job.max_wait is not None and not job.options.flex_start:
        problems.append(
            RULES["max-wait"].at(
                "--max-wait",
                "without --flex-start",
                "--flex-start, or no --max-wait",
                "only a job that queues for its machines has a longest wait",
            )
        )
    if job.options.network and job.options.network_attachment:
        problems.append(
            RULES["network-twice"].at("--network-attachment", "together with --network")
        )
    return problems


def _reservation_problems(job: VertexJob) -> list[Problem]:
    names = job.options.reservations
    if ANY_RESERVATION not in names or len(names) == 1:
        return []
    found = f"{ANY_RESERVATION} together with a name"
    return [RULES["reservation"].at("--reservation", found, "any, or the names")]


def _experiment_problems(job: VertexJob) -> list[Problem]:
    options, problems = job.options, []
    if options.experiment_run and not options.experiment:
        found, fix = "without --experiment", "--experiment NAME"
        problems.append(RULES["experiment"].at("--experiment-run", found, "its experiment", fix))
    names = {"--experiment": options.experiment, "--experiment-run": options.experiment_run}
    for flag, name in names.items():
        if name and "/" not in name and not _CONTEXT.fullmatch(name):
            expected = "lower case letters, digits and hyphens"
            problems.append(RULES["experiment"].at(flag, name[:80], expected))
    return problems


def _label_problems(job: VertexJob) -> list[Problem]:
    return [
        RULES["label-reserved"].at(f"--tag {name}", f"begins with {OUR_LABELS}")
        for name in job.tags
        if name.startswith(OUR_LABELS)
    ]


def _reduction_problems(job: VertexJob) -> list[Problem]:
    options = job.options
    if options.reduction_servers is None:
        given = {
            "--reduction-server-machine": options.reduction_server_machine,
            "--reduction-server-disk": options.reduction_server_disk,
        }
        found, expected = "without --reduction-servers", "--reduction-servers N"
        return [
            RULES["reduction-servers"].at(flag, found, expected)
            for flag, value in given.items()
            if value
        ]
    if job.instances > 1:
        return []
    return [
        RULES["reduction-servers"].at(
            "--reduction-servers",
            f"{options.reduction_servers} for one host",
            "several hosts, since they sum gradients between hosts",
            "they would cost and do nothing",
            severity="warning",
        )
    ]
