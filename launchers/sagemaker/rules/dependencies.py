"""What the rules look at besides the place that they name: where such a value is not known here,
as with another tool's parameter, a rule says nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from launchers.core.roles import SIZE

_SPOT = ("$.EnableManagedSpotTraining",)
_STOPPING = (
    "$.StoppingCondition.MaxRuntimeInSeconds",
    "$.StoppingCondition.MaxWaitTimeInSeconds",
)
_TYPES = ("$.ResourceConfig.InstanceType", "$.ResourceConfig.InstanceGroups[*].InstanceType")
# The flags of starts/ways.json, which is not read before it is needed.
FLAGS = (
    "$.HyperParameters.sagemaker_mpi_enabled",
    "$.HyperParameters.sagemaker_torch_distributed_enabled",
    "$.HyperParameters.sagemaker_distributed_dataparallel_enabled",
    "$.HyperParameters.sagemaker_pytorch_ddp_enabled",
    "$.HyperParameters.sagemaker_pytorch_xla_multi_worker_enabled",
    "$.HyperParameters.sagemaker_multi_worker_mirrored_strategy_enabled",
    "$.HyperParameters.sagemaker_parameter_server_enabled",
)
_GROUPS = "$.HyperParameters.sagemaker_distribution_instance_groups"
_RANKS = (
    *FLAGS,
    _GROUPS,
    "$.HyperParameters.sagemaker_mpi_num_of_processes_per_host",
    "$.HyperParameters.sagemaker_mpi_num_processes",
)
_IMAGE = ("$.AlgorithmSpecification.TrainingImage",)
_COMMAND = (
    "$.AlgorithmSpecification.ContainerEntrypoint[*]",
    "$.AlgorithmSpecification.ContainerArguments[*]",
)
_SIZE = (
    "$.ResourceConfig.InstanceCount",
    "$.ResourceConfig.InstanceGroups[*].InstanceCount",
    "$.ResourceConfig.InstanceGroups[*].InstanceGroupName",
    *_RANKS,
    *_COMMAND,
)
DEPENDS_ON: Mapping[str, Sequence[str]] = {
    SIZE: _SIZE,
    "world-size": (*_SIZE, *_IMAGE, "$.HyperParameters.sagemaker_program"),
    "distribution-ignored": _IMAGE,
    "distribution-several": (*_IMAGE, *FLAGS),
    "distribution-groups": ("$.ResourceConfig.InstanceGroups[*].InstanceGroupName",),
    "mpi-processes": _SIZE,
    "image-other-region": (*_IMAGE, "$.HyperParameters.sagemaker_region"),
    "role-partition": (*_IMAGE, "$.HyperParameters.sagemaker_region"),
    "file-system-vpc": ("$.VpcConfig",),
    "visible-devices": (*_TYPES, *_RANKS),
    "spot-wait": (*_SPOT, *_STOPPING),
    "warm-pool-spot": _SPOT,
    "ranks-above-gpus": (*_TYPES, *_RANKS),
    "ranks-below-gpus": (*_TYPES, *_RANKS),
    "volume-key-nvme": _TYPES,
    "image-cuda": _TYPES,
    "image-horovod": _RANKS,
    "start-environment": (*_RANKS, "$.HyperParameters.sagemaker_mpi_custom_mpi_options"),
    "start-guard": ("$.HyperParameters.sagemaker_program", "$.InputDataConfig[*].ChannelName"),
    "env-reserved": ("$.Environment",),
    "program-missing": ("$.HyperParameters.sagemaker_program",),
}
