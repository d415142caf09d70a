"""`launch doctor --bundle`: what somebody who mends a bug needs to know of a machine, and nothing
that is secret or says whose it is."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.doctor.private import SECRET, Private
from launchers.core.model.problems import LaunchError
from launchers.core.paths import writing
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger, data_folder
from launchers.core.registry import PROVIDERS, provider
from launchers.core.spec.job import JobSpec
from launchers.core.spec.layers import DEFAULT_FILE
from launchers.core.spec.option import key_of, option_fields
from launchers.core.spec.value_types import Choice, Count, Duration, Switch
from launchers.core.times import iso_time

_READ_ME, _FOUND = "README.txt", "doctor.json"
_JOBS, _LOGS, _LINES = 10, 4, 100
_LARGEST_LOG = 256 * 1024
# Variables whose values say how things run and not whose they are.
_SHOWN = re.compile(
    r"AWS_(?:DEFAULT_)?REGION|CLOUDSDK_(?:AI|COMPUTE)_REGION|GOOGLE_CLOUD_REGION|LANG|LC_\w+|TERM"
    r"|NO_COLOR|CI|TF_USE_LEGACY_KERAS|KERAS_BACKEND|CUDA_VISIBLE_DEVICES|NVIDIA_VISIBLE_DEVICES"
    r"|OMP_NUM_THREADS|TF_CPP_MIN_LOG_LEVEL|HOROVOD_(?:CONTROLLER|CPU_OPERATIONS|LOG_LEVEL)"
    r"|PYTHON(?:UTF8|OPTIMIZE|UNBUFFERED|HASHSEED)"
)
# Keys of launch.yaml whose values are words of the clouds, besides those that are one of a few.
_WORDS = ("machine", "region", "accelerator", "python")
_TEXT = """\
What `launch doctor --bundle` gathered on this machine, for a bug report:

{names}

Credentials were taken out by their shapes and names, and where the tools of AWS, Google and
Docker keep them on this machine; account numbers, users, hosts, buckets and addresses have words
like <account> in their place. Values of launch.yaml that may be anything are {secret}.

Read all of it before you send it to anybody: no program knows every secret. A job's own output may
hold some; leave out the file that you would not show.
"""


def write_bundle(path: Path, report: Mapping[str, Any], job_file: Path) -> list[str]:
    """Write the file, its owner's alone, and give the names of what is in it.

    A bundle of before is replaced; any other file of that name is not.

    Raises:
        LaunchError: Another file has the name, or it cannot be written.
    """
    refuse_another(path)
    jobs = _jobs()
    private = Private(one.nonce for one in jobs if one.nonce)
    parts = {
        _FOUND: json.dumps(private.value(report), indent=1),
        "versions.txt": private.text("\n".join(_versions())),
        "environment.txt": private.text("\n".join(_environment())),
        "launch.yaml": private.text(_job_file(job_file)),
        "jobs.json": json.dumps(private.value([_job(one) for one in jobs]), indent=1),
        **{name: private.text(text) for name, text in _logs()},
    }
    parts = {private.text(name): text for name, text in parts.items() if text.strip()}
    listed = "\n".join(f"  {name}" for name in parts)
    parts = {_READ_ME: _TEXT.format(names=listed, secret=SECRET), **parts}
    with writing(path, "name another file: --bundle FILE.zip"):
        _write(path, _packed(parts))
    return list(parts)


def refuse_another(path: Path) -> None:
    """Ask before the work whether :func:`write_bundle` would write there.

    Raises:
        LaunchError: Another file has the name.
    """
    if not os.path.lexists(path):
        return
    try:
        with zipfile.ZipFile(path) as found:
            ours = {_READ_ME, _FOUND} <= set(found.namelist())
    except (OSError, zipfile.BadZipFile):
        ours = False
    if not ours:
        raise LaunchError(RULES["bundle-exists"].at("--bundle", f"{path} is something else"))


def _packed(parts: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in parts.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o600 << 16
            bundle.writestr(entry, text + "\n", zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _write(path: Path, data: bytes) -> None:
    """Its owner's alone from its first byte on, and whole or not at all."""
    begun = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        begun.replace(path)
    except BaseException:
        begun.unlink(missing_ok=True)
        raise


def _versions() -> list[str]:
    """Each distribution of the launcher's Python; not where from, which may hold a token."""
    found = {
        f"{one.metadata['Name']}=={one.version}"
        for one in metadata.distributions()
        if one.metadata["Name"]
    }
    return sorted(found, key=str.lower)


def _environment() -> list[str]:
    return [
        f"{name}={value}" if _SHOWN.fullmatch(name) else name
        for name, value in sorted(os.environ.items())
    ]


def _job_file(path: Path) -> str:
    """The file's keys, with the values that are one of a few; empty where there is none."""
    from launchers.core.reading.text_file import as_mapping
    from launchers.core.reading.yaml_nodes import compose
    from launchers.core.reading.yaml_values import YamlValues

    if path.name == DEFAULT_FILE and not path.is_file():
        return ""
    from launchers.core.bounded import read_text

    try:
        text = read_text(str(path))
        tree = as_mapping(YamlValues(path.name, text_keys=True).of(compose(text, path.name)), "")
    except LaunchError:
        return "# it cannot be read; doctor.json says why"
    return json.dumps(_masked(tree, _plain_keys()), indent=1)


def _plain_keys() -> frozenset[str]:
    """Keys of launch.yaml whose values can be only what the launcher itself knows."""
    classes: list[Any] = [JobSpec, *(provider(name).definer.options for name in PROVIDERS)]
    fields = [pair for one in classes for pair in option_fields(one)]
    plain = (Choice, Count, Duration, Switch)
    return frozenset({key_of(item) for item, kind in fields if isinstance(kind, plain)} | {*_WORDS})


def _masked(value: Any, plain: frozenset[str], key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {str(name): _masked(inner, plain, str(name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(one, plain, key) for one in value]
    short = len(str(value)) <= 40
    return value if value is None or (key in plain and short) else SECRET


def _jobs() -> list[Entry]:
    try:
        return Ledger().jobs(newest=_JOBS)
    except LaunchError:
        return []


def _job(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "provider": entry.provider,
        "state": entry.state,
        "reason": entry.reason,
        "proof": entry.proof,
        "world_size": entry.world_size,
        "created": iso_time(entry.created),
        "ended": iso_time(entry.ended),
        "damaged": entry.damaged,
        # Their values are places, users' arguments and marks of the launcher.
        "details": sorted(entry.details),
    }


def _logs() -> Iterator[tuple[str, str]]:
    """The ends of the newest logs of jobs and rehearsals on this machine."""
    folder = data_folder()
    files = [*folder.glob("*/*/*.log"), *folder.glob("*/*/logs/*.log")]
    for path in sorted(files, key=_changed, reverse=True)[:_LOGS]:
        try:
            with path.open("rb") as stream:
                stream.seek(max(0, path.stat().st_size - _LARGEST_LOG))
                text = stream.read(_LARGEST_LOG).decode("utf-8", "replace")
        except OSError:
            continue
        name = "-".join(path.relative_to(folder).parts[1:])
        yield f"logs/{name}", "\n".join(text.splitlines()[-_LINES:])


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
