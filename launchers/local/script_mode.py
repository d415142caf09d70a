"""What a script that was written for SageMaker's script mode finds in its environment, here.

On SageMaker the container's toolkit sets these variables (sagemaker-training 5.1.4,
``Environment.to_env_vars``; its ENVIRONMENT_VARIABLES.md says what they mean). Here they are set
where the source names one of them, each to what fits this machine. What the toolkit takes from
files of the service (``SM_INPUT_CONFIG_DIR`` and its like) is not set.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from launchers.core.analysis.argument_pairs import NUMBER, named
from launchers.core.model.problems import Problem
from launchers.core.planning.gpu_pinning import without_comments
from launchers.core.planning.plan import Row
from launchers.core.source.script import JobSource, Source
from launchers.local.catalogue import RULES
from launchers.local.job_folder import JobFolder

PREFIX = "SM_"
# Read by our own guard; a value of the user's would be taken for SageMaker's.
RESERVED = "SM_FRAMEWORK_PARAMS"
# Folders that are there before the script starts.
MADE_FOLDERS = ("SM_OUTPUT_DATA_DIR", "SM_OUTPUT_INTERMEDIATE_DIR")
_CHANNEL, _HYPERPARAMETER = "SM_CHANNEL_", "SM_HP_"
_NAME = re.compile(r"\bSM_[A-Z0-9_]+")
# `os.environ["SM_MODEL_DIR"]`, `environ.get("SM_MODEL_DIR")`, `$SM_MODEL_DIR`: more than a mention.
_READ = re.compile(r"""(?:\[|get(?:env)?\(|\$\{?)\s*["']?(SM_[A-Z0-9_]+)""")
_SUFFIXES = {".py", ".sh", ".yaml", ".yml", ".toml", ".cfg", ".ini"}
_LARGEST = 1 << 20  # bytes of a file that is read
_SHOWN = 6
_NOT_HERE = {"SM_INPUT_DIR", "SM_INPUT_CONFIG_DIR", "SM_FRAMEWORK_MODULE", RESERVED}
_CHANNEL_CONFIG = {
    "TrainingInputMode": "File",
    "S3DistributionType": "FullyReplicated",
    "RecordWrapperType": "None",
}


@dataclass(frozen=True)
class ScriptMode:
    """What one job gets.

    Attributes:
        environment: For every rank.
        hosts: For the ranks of each host besides, by the host's name.
        rows: What the plan shows.
        problems: Channels without a folder.
    """

    environment: Mapping[str, str]
    hosts: Mapping[str, Mapping[str, str]]
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


class Naming(NamedTuple):
    """Where the source names a variable first.

    Attributes:
        file: Relative to the source's folder.
        read: It, or another file, takes the variable's value.
    """

    file: str
    read: bool


@dataclass(frozen=True)
class Simulated:
    """The machine that the variables describe.

    Attributes:
        hosts: Their names.
        gpus: Of each host.
        folder: The job's own.
        job: The job's name.
    """

    hosts: Sequence[str]
    gpus: int
    folder: JobFolder
    job: str


def script_mode(
    source: Source,
    words: Mapping[str, Naming],
    machine: Simulated,
    arguments: Sequence[str],
    channels: Mapping[str, str],
    given: Mapping[str, str],
) -> ScriptMode:
    """The variables that ``source`` asks for by naming one of them, or ``--channel`` does; else
    none.

    Args:
        words: What :func:`named_variables` found in the source.
        arguments: The script's own.
        channels: Folders by channel (``--channel``).
        given: What ``--env`` sets; it wins.
    """
    folders = {name: os.path.abspath(os.path.expanduser(at)) for name, at in channels.items()}
    problems = [_no_folder(name, at) for name, at in folders.items() if not os.path.isdir(at)]
    common = _common(source, machine, arguments, folders)
    hosts = {host: _of_host(host, machine, common, folders) for host in machine.hosts}
    known = {*common, *hosts[machine.hosts[0]]}
    wanted = {
        name: naming
        for name, naming in words.items()
        if name in known or name in _NOT_HERE or name.startswith((_CHANNEL, _HYPERPARAMETER))
    }
    if not wanted and not channels:
        return ScriptMode({}, {}, _dropped_row("SM_*", given), tuple(problems))
    absent = [name for name in wanted if name not in {*known, *given} and not name.endswith("_")]
    channels_read = [name for name in absent if name.startswith(_CHANNEL) and wanted[name].read]
    problems += [_no_channel(name, wanted[name].file) for name in channels_read]
    rows = (_row(wanted, absent), *_dropped_row("", given))
    return ScriptMode(
        _without(given, common),
        {host: _without(given, own) for host, own in hosts.items()},
        rows,
        tuple(problems),
    )


def named_variables(source: JobSource) -> dict[str, Naming]:
    """Every ``SM_`` word of the source, comments aside; none for the shared script."""
    found: dict[str, Naming] = {}
    for path in sorted([] if source.shared else source.user_files):
        if path.suffix not in _SUFFIXES:
            continue
        try:
            content = path.read_bytes() if path.stat().st_size <= _LARGEST else b""
        except OSError:
            continue
        if b"SM_" in content:
            text = without_comments(content.decode("utf-8", "replace"))
            read = set(_READ.findall(text))
            for name in _NAME.findall(text):
                first = found.get(name, Naming(os.path.relpath(path, source.folder), False))
                found[name] = first._replace(read=first.read or name in read)
    return dict(sorted(found.items()))


def _common(
    source: Source, machine: Simulated, arguments: Sequence[str], folders: Mapping[str, str]
) -> dict[str, str]:
    """What is the same on every host."""
    output = machine.folder.output
    hyperparameters = {name: _read(value) for name, value in named(arguments)}
    values: dict[str, Any] = {
        "MODEL_DIR": str(machine.folder.model),
        "OUTPUT_DIR": str(output),
        "OUTPUT_DATA_DIR": str(output / "data"),
        "OUTPUT_INTERMEDIATE_DIR": str(output / "intermediate"),
        "HOSTS": list(machine.hosts),
        "NUM_GPUS": machine.gpus,
        "NUM_CPUS": max((os.cpu_count() or 1) // len(machine.hosts), 1),
        "NUM_NEURONS": 0,
        "NETWORK_INTERFACE_NAME": "lo",
        "LOG_LEVEL": 20,
        "CURRENT_INSTANCE_TYPE": "local",
        "HPS": hyperparameters,
        "USER_ARGS": list(arguments),
        "USER_ENTRY_POINT": source.script,
        "MODULE_NAME": source.module or source.script.removesuffix(".py"),
        "MODULE_DIR": str(source.folder),
        "CHANNELS": sorted(folders),
        "INPUT_DATA_CONFIG": dict.fromkeys(folders, _CHANNEL_CONFIG),
        **{f"CHANNEL_{name.upper()}": folder for name, folder in folders.items()},
        **{f"HP_{name.upper()}": value for name, value in hyperparameters.items()},
    }
    return {PREFIX + name: _text(value) for name, value in values.items()}


def _of_host(
    host: str, machine: Simulated, common: Mapping[str, str], folders: Mapping[str, str]
) -> dict[str, str]:
    """What differs from host to host; SM_TRAINING_ENV says all of it once more."""
    resources = {
        "current_host": host,
        "hosts": list(machine.hosts),
        "network_interface_name": common["SM_NETWORK_INTERFACE_NAME"],
    }
    everything = {
        "channel_input_dirs": dict(folders),
        "current_host": host,
        "current_instance_type": common["SM_CURRENT_INSTANCE_TYPE"],
        "hosts": list(machine.hosts),
        "hyperparameters": json.loads(common["SM_HPS"]),
        "input_data_config": json.loads(common["SM_INPUT_DATA_CONFIG"]),
        "is_master": host == machine.hosts[0],
        "job_name": machine.job,
        "log_level": int(common["SM_LOG_LEVEL"]),
        "master_hostname": machine.hosts[0],
        "model_dir": common["SM_MODEL_DIR"],
        "module_dir": common["SM_MODULE_DIR"],
        "module_name": common["SM_MODULE_NAME"],
        "network_interface_name": common["SM_NETWORK_INTERFACE_NAME"],
        "num_cpus": int(common["SM_NUM_CPUS"]),
        "num_gpus": machine.gpus,
        "output_data_dir": common["SM_OUTPUT_DATA_DIR"],
        "output_dir": common["SM_OUTPUT_DIR"],
        "output_intermediate_dir": common["SM_OUTPUT_INTERMEDIATE_DIR"],
        "resource_config": resources,
        "user_entry_point": common["SM_USER_ENTRY_POINT"],
    }
    return {
        "SM_CURRENT_HOST": host,
        "SM_RESOURCE_CONFIG": _text(resources),
        "SM_TRAINING_ENV": _text(everything),
    }


def _without(given: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if name not in given}


def _read(text: str) -> Any:
    """A hyperparameter as the toolkit reads it: ``3`` is a number, ``007`` a text."""
    return json.loads(text) if NUMBER.fullmatch(text) and not re.match(r"-?0\d", text) else text


def _text(value: Any) -> str:
    """A value as the toolkit writes it: texts as they are, the rest as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _row(wanted: Mapping[str, Naming], absent: Sequence[str]) -> Row:
    there = [name for name in wanted if name not in absent]
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    origin = "as on SageMaker"
    if wanted:
        origin += f", since {next(iter(wanted.values())).file} names {next(iter(wanted))}"
    # Channels are told by themselves.
    others = [name for name in absent if not name.startswith(_CHANNEL)]
    if others:
        origin += f"; not set: {', '.join(others)}"
    return Row("SM_*", ", ".join(there[:_SHOWN]) + more or "set", origin)


def _dropped_row(label: str, given: Mapping[str, str]) -> tuple[Row, ...]:
    """What of this shell's does not reach the ranks: it may be an outer job's."""
    dropped = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in given)
    if not dropped:
        return ()
    text = f"dropped of this shell: {', '.join(dropped)}"
    return (Row(label, text, f"--env {dropped[0]}=VALUE sets one"),)


def _no_folder(name: str, folder: str) -> Problem:
    return RULES["local-channel"].at(
        "--channel", f"{name}={folder} (no such folder)", "NAME=FOLDER"
    )


def _no_channel(name: str, file: str) -> Problem:
    channel = name.removeprefix(_CHANNEL).lower()
    return RULES["local-channel"].at(
        name,
        f"{file} uses it, but no folder is given",
        "a folder, where the script needs one",
        f"--channel {channel}=FOLDER",
        severity="warning",
    )
