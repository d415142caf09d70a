"""An AI Platform Training job as a job of `launch vertex`: the keys of launch.yaml.

AI Platform Training was shut down on 2025-01-31; teams still have its configuration files and
command lines. Field by field they have a counterpart, changed (a warning), or none (an error).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from launchers.core.model.problems import Problem
from launchers.core.spec.value_types import format_duration
from launchers.vertex.ai_platform.input import INPUT, Given, load, merge
from launchers.vertex.ai_platform.machines import Hardware, boot_disk, master
from launchers.vertex.ai_platform.obsolete import dropped, tell_obsolete
from launchers.vertex.ai_platform.replicas import processes, reduction_servers, workers
from launchers.vertex.ai_platform.start import training
from launchers.vertex.catalogue import RULES
from launchers.vertex.document import seconds_of
from launchers.vertex.tables import machines


def convert(
    config: Mapping[str, Any],
    flags: Mapping[str, str] | None = None,
    arguments: Sequence[str] | None = None,
) -> tuple[dict[str, Any], list[Problem]]:
    """The launch.yaml of an old job, and everything that changed or has no counterpart. Pure.

    Args:
        config: The configuration file's content, a Job of the old API.
        flags: The flags of ``gcloud ml-engine jobs submit training`` by name, ``JOB`` among them;
            they win over the file. ``--source`` and ``--script`` say where the code lies.
        arguments: What stood behind ``--``, or None.

    Returns:
        The keys of launch.yaml with their values, and the problems: an error for what cannot be
        (the keys are then not all there), a warning for each thing that changed.

    Example:
        >>> values, problems = convert(
        ...     {"trainingInput": {"scaleTier": "BASIC_GPU"}}, {"--script": "train.py"})
        >>> values["machine"], values["vertex"]["accelerator"]
        ('n1-standard-8', 'NVIDIA_TESLA_T4:1')
    """
    given = merge(config, flags or {})
    problems = list(given.problems)
    hardware = master(given, problems)
    instances = 1 + workers(given, hardware, problems)
    ran = training(given, arguments, problems)
    own = _own(given, hardware, problems)
    values: dict[str, Any] = {
        "script": ran.script,
        "module": ran.module,
        "source": ran.source,
        "name": _name(given, problems),
        "instances": instances,
        "processes": processes(given, ran, instances, hardware, problems),
        "machine": hardware.machine,
        "image": _image(given, problems),
        "args": list(ran.arguments),
        "max_runtime": _max_runtime(given, problems),
        **_places(given, problems),
        "tags": dict(given.get("labels") or {}),
        "vertex": own,
    }
    tell_obsolete(given, problems)
    return {
        key: value for key, value in values.items() if value not in (None, "", [], {})
    }, problems


def _own(given: Given, hardware: Hardware, problems: list[Problem]) -> dict[str, Any]:
    """What stands under ``vertex:``."""
    table = machines.machine(hardware.machine)
    beside = hardware.accelerator and not (table and table.accelerator)
    own = {
        "project": given.flags.get("--project"),
        "accelerator": f"{hardware.accelerator}:{hardware.count}" if beside else None,
        "service_account": given.get(f"{INPUT}.serviceAccount"),
        "network": given.get(f"{INPUT}.network"),
        "encryption_key": _key(given, problems),
        "boot_disk": boot_disk(given, "master"),
        "web_access": given.get(f"{INPUT}.enableWebAccess") or None,
        **reduction_servers(given, problems),
    }
    return {key: value for key, value in own.items() if value is not None}


def _key(given: Given, problems: list[Problem]) -> str | None:
    """``--kms-key`` is a whole name, or a part of one with the other parts beside it."""
    path = f"{INPUT}.encryptionConfig.kmsKeyName"
    key = given.get(path)
    if key is None or "/" in key:
        return str(key) if key else None
    parts = {
        "projects": given.flags.get("--kms-project") or given.flags.get("--project"),
        "locations": given.flags.get("--kms-location"),
        "keyRings": given.flags.get("--kms-keyring"),
    }
    if not all(parts.values()):
        expected = "projects/P/locations/L/keyRings/R/cryptoKeys/K"
        fix = "or --kms-project, --kms-location and --kms-keyring beside it"
        problems.append(RULES["import-value"].at(given.where(path), key[:60], expected, fix))
        return None
    return "/".join(f"{kind}/{name}" for kind, name in parts.items()) + f"/cryptoKeys/{key}"


def _name(given: Given, problems: list[Problem]) -> str | None:
    name = given.flags.get("JOB") or given.get("jobId")
    if not name:
        return None
    ours = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or None
    if ours != name:
        where = "JOB" if "JOB" in given.flags else "jobId"
        expected = "letters, digits and inner hyphens"
        problems.append(RULES["import-changed"].at(where, name, expected, f"`name: {ours}`"))
    return ours


def _image(given: Given, problems: list[Problem]) -> str | None:
    path = f"{INPUT}.masterConfig.imageUri"
    image = given.get(path)
    versions = []
    for key in ("runtimeVersion", "pythonVersion"):
        if given.get(f"{INPUT}.{key}") is not None:
            versions.append(f"{key} {given.get(f'{INPUT}.{key}')}")
    if image is not None:
        if versions:
            where = f"{INPUT}.{versions[0].partition(' ')[0]}"
            problems.append(dropped(given.where(where), " and ".join(versions), "the image's own"))
        return _tagged(image, given.where(path), problems)
    where = given.where(f"{INPUT}.runtimeVersion") if versions else path
    problems.append(
        RULES["import-changed"].at(
            where,
            " and ".join(versions) or "missing",
            "an image with Horovod: no prebuilt one has it",
            "launch image build --push REGION-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE:TAG makes "
            "one; write its address as `image:`",
        )
    )
    return None


def _tagged(image: str, where: str, problems: list[Problem]) -> str:
    """The image's address; without a tag the old service took ``latest``, and it is written."""
    if re.search(r"[:@]", image.rpartition("/")[2]):
        return image
    expected, fix = "a tag that stays, or a digest", f"`image: {image}:latest`, what it meant"
    problems.append(RULES["import-changed"].at(where, f"{image[:80]} without a tag", expected, fix))
    return f"{image}:latest"


def _max_runtime(given: Given, problems: list[Problem]) -> str | None:
    """``2h`` of ``7200s``; what the old service took where nothing was said was seven days."""
    path = f"{INPUT}.scheduling.maxRunningTime"
    text = given.get(path)
    longest = load()["longest_run_seconds"]
    if text is None:
        return format_duration(longest)
    seconds = seconds_of(text)
    if not seconds or seconds < 0:
        expected = 'seconds as text, such as "7200s"'
        problems.append(RULES["import-value"].at(given.where(path), text[:40], expected))
        return None
    return format_duration(math.ceil(seconds))


def _places(given: Given, problems: list[Problem]) -> dict[str, Any]:
    """Region, bucket and where output goes."""
    path = f"{INPUT}.jobDir"
    job_dir = given.get(path)
    if job_dir is not None and not re.fullmatch(r"gs://[a-z0-9][a-z0-9._-]+(/.*)?", job_dir):
        expected = "a place in Cloud Storage, gs://BUCKET/FOLDER"
        problems.append(RULES["import-value"].at(given.where(path), job_dir[:80], expected))
        job_dir = None
    staging = given.flags.get("--staging-bucket") or job_dir or ""
    return {
        "output_path": job_dir,
        "region": given.get(f"{INPUT}.region"),
        "bucket": staging.removeprefix("gs://").partition("/")[0] or None,
    }
