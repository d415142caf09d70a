"""The SM_* variables that scripts for SageMaker read.

Source: sagemaker-training 5.1 (environment.py ``to_env_vars``, mapping.py), whose names and forms
these are; SM_USER_ARGS has the script's exact arguments, which the toolkit would have changed.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Sequence

from launch_runtime.host.sagemaker.tree import Tree

# Hyperparameters that steer the toolkit (its params.py): in neither SM_HPS nor the parameters of
# a framework.
_STEERING = (
    "sagemaker_program",
    "sagemaker_submit_directory",
    "sagemaker_container_log_level",
    "sagemaker_job_name",
    "sagemaker_region",
    "sagemaker_enable_cloudwatch_metrics",
    "sagemaker_s3_output",
    "sagemaker_parameter_server_num",
    "default_user_module_name",
)
_PREFIX = "sagemaker_"
_ONE_GROUP = "homogeneousCluster"
_INFO = 20  # logging's level, where the request names none


def variables(tree: Tree, arguments: Sequence[str], source: str) -> dict[str, str]:
    """Every variable with its value.

    Args:
        arguments: The script's own.
        source: The folder that it lies in.
    """
    own = {
        name: value for name, value in tree.hyperparameters.items() if not name.startswith(_PREFIX)
    }
    framework = {
        name: value
        for name, value in tree.hyperparameters.items()
        if name.startswith(_PREFIX) and name not in _STEERING
    }
    program = str(tree.hyperparameters.get("sagemaker_program", ""))
    channels = {name: tree.path("input", "data", name) for name in tree.inputs}
    words: dict[str, Any] = {
        "hosts": tree.hosts,
        "current_host": tree.own,
        "network_interface_name": tree.interface,
        "hps": own,
        "framework_params": framework,
        "user_entry_point": program,
        "module_name": program[:-3] if program.endswith(".py") else program,
        "user_args": list(arguments),
        "resource_config": tree.resources,
        "input_data_config": tree.inputs,
        "channels": sorted(channels),
        "input_dir": tree.path("input"),
        "input_config_dir": tree.path("input", "config"),
        "output_dir": tree.path("output"),
        "output_data_dir": tree.path("output", "data"),
        "output_intermediate_dir": tree.path("output", "intermediate"),
        "model_dir": tree.path("model"),
        "module_dir": source,
        "log_level": tree.hyperparameters.get("sagemaker_container_log_level", _INFO),
        "num_cpus": os.cpu_count() or 1,
        "num_gpus": _gpus(),
        **_groups(tree),
    }
    words["training_env"] = {
        **{name: value for name, value in words.items() if name not in ("hps", "user_args")},
        "hyperparameters": own,
        "channel_input_dirs": channels,
        "job_name": tree.hyperparameters.get("sagemaker_job_name", ""),
        "master_hostname": tree.hosts[0],
        "is_master": tree.own == tree.hosts[0],
    }
    words.update({f"channel_{name}": path for name, path in channels.items()})
    words.update({f"hp_{name}": value for name, value in own.items()})
    return {f"SM_{name.upper()}": _text(value) for name, value in words.items()}


def _groups(tree: Tree) -> dict[str, Any]:
    groups = tree.resources.get("instance_groups") or []
    named = {str(group.get("instance_group_name")): group for group in groups}
    own = str(tree.resources.get("current_group_name") or _ONE_GROUP)
    return {
        "current_instance_type": str(tree.resources.get("current_instance_type") or "local"),
        "current_instance_group": own,
        "current_instance_group_hosts": named.get(own, {}).get("hosts", tree.hosts),
        "instance_groups": list(named),
        "instance_groups_dict": named,
        "distribution_instance_groups": list(named),
        "is_hetero": len(named) > 1,
    }


def _gpus() -> int:
    """GPUs of this container, as nvidia-smi lists them; 0 where there is no such program."""
    try:
        listed = subprocess.run(
            ["nvidia-smi", "--list-gpus"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
            timeout=60,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    return sum(line.startswith("GPU ") for line in listed.splitlines())


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, sort_keys=True, separators=(",", ":"))
