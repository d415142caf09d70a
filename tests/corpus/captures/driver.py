"""Runs in an environment with one version of SageMaker's SDK: ``driver.py VERSION FOLDER`` makes
the calls of its table, keeps the CreateTrainingJob request of each, and sends nothing."""

from __future__ import annotations

import datetime
import json
import logging
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

REGION, ACCOUNT = "us-east-1", "000000000000"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/SageMaker"
# The project's own, so that no machine's settings take part.
os.environ.update(
    AWS_DEFAULT_REGION=REGION,
    AWS_ACCESS_KEY_ID="none",
    AWS_SECRET_ACCESS_KEY="none",
    AWS_CONFIG_FILE=os.devnull,
    AWS_SHARED_CREDENTIALS_FILE=os.devnull,
    AWS_EC2_METADATA_DISABLED="true",
    SAGEMAKER_ADMIN_CONFIG_OVERRIDE=os.devnull,
    SAGEMAKER_USER_CONFIG_OVERRIDE=os.devnull,
    HOME=tempfile.mkdtemp(),
)
_DATED = re.compile(r"-?\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d-\d{3}|-\d{14}")


_THEN = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)


class Captured(Exception):  # noqa: N818 - it ends the call
    """The request has been seen."""


seen: list[dict[str, Any]] = []


def _answer(self: Any, operation: str, values: dict[str, Any]) -> dict[str, Any]:
    """In the place of botocore's call."""
    if operation == "CreateTrainingJob":
        seen.append(values)
        raise Captured
    if operation == "GetCallerIdentity":
        return {"Account": ACCOUNT, "Arn": ROLE, "UserId": "none"}
    if operation == "GetRole":
        return {"Role": {"Arn": ROLE}}
    if operation == "ListBuckets":
        buckets = [f"sagemaker-{REGION}-{ACCOUNT}"]
        return {"Buckets": [{"Name": name, "CreationDate": _THEN} for name in buckets]}
    return {"ResponseMetadata": {"HTTPStatusCode": 200, "HTTPHeaders": {}}}


def two(job: Callable[..., Any], **values: Any) -> None:
    """An estimator on two hosts, fitted."""
    given = {"entry_point": "train.py", "source_dir": ".", "role": ROLE, "instance_count": 2}
    job(**{**given, "hyperparameters": {"epochs": 3, "name": "abc"}, **values}).fit(
        {"training": "s3://my-bucket/data"}, job_name="demo", wait=False
    )


def calls_of_2(version: str) -> dict[str, Callable[[], None]]:
    """Calls of ``sagemaker.estimator`` and its frameworks."""
    from sagemaker.estimator import Estimator
    from sagemaker.inputs import TrainingInput
    from sagemaker.pytorch import PyTorch
    from sagemaker.tensorflow import TensorFlow

    tf_version, torch_version = {
        "2.100.0": ("2.8.0", "1.11.0"),
        "2.200.1": ("2.12.0", "2.0.0"),
        "2.257.7": ("2.16", "2.5.1"),
    }[version]
    tf_python = {"2.8.0": "py39"}.get(tf_version, "py310")
    torch_python = {"1.11.0": "py38", "2.5.1": "py311"}.get(torch_version, "py310")

    def tensorflow(distribution: Any, machine: str = "ml.p3.8xlarge", **values: Any) -> None:
        values = {"framework_version": tf_version, "py_version": tf_python, **values}
        two(TensorFlow, distribution=distribution, instance_type=machine, **values)

    def torch(distribution: Any, machine: str = "ml.p4d.24xlarge", **values: Any) -> None:
        values = {"framework_version": torch_version, "py_version": torch_python, **values}
        two(PyTorch, distribution=distribution, instance_type=machine, **values)

    def of_image(machine: str = "ml.p3.8xlarge", **values: Any) -> None:
        image = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/ours:1"
        two(Estimator, image_uri=image, instance_type=machine, **values)

    mpi = {"mpi": {"enabled": True, "processes_per_host": 4}}
    options = "-verbose --NCCL_DEBUG=INFO -x OMPI_MCA_btl_vader_single_copy_mechanism=none"
    calls = {
        "tf_mpi": lambda: tensorflow(mpi),
        "tf_mpi_horovod_image": lambda: tensorflow(
            mpi, framework_version="2.8.0", py_version="py39"
        ),
        "tf_mpi_options": lambda: tensorflow(
            {"mpi": {**mpi["mpi"], "custom_mpi_options": options}}
        ),
        "tf_mpi_no_count": lambda: tensorflow({"mpi": {"enabled": True}}),
        "tf_mpi_disabled": lambda: tensorflow({"mpi": {"enabled": False, "processes_per_host": 4}}),
        "tf_mpi_upper_case": lambda: tensorflow({"MPI": mpi["mpi"]}),
        "tf_horovod_key": lambda: tensorflow({"horovod": mpi["mpi"]}),
        "tf_parameter_server": lambda: tensorflow({"parameter_server": {"enabled": True}}),
        "tf_mwms": lambda: tensorflow({"multi_worker_mirrored_strategy": {"enabled": True}}),
        "tf_mwms_misspelt": lambda: tensorflow({"multi_worker_mirrored": {"enabled": True}}),
        "tf_none": lambda: tensorflow(None),
        "torch_mpi": lambda: torch({"mpi": {"enabled": True, "processes_per_host": 8}}),
        "torch_ddp": lambda: torch({"pytorchddp": {"enabled": True}}),
        "torch_distributed": lambda: torch({"torch_distributed": {"enabled": True}}),
        "torch_distributed_empty": lambda: torch({"torch_distributed": {}}),
        "torch_distributed_misspelt": lambda: torch({"torch_distribution": {"enabled": True}}),
        "torch_distributions": lambda: torch(None, distributions=mpi),
        "torch_smddp": lambda: torch({"smdistributed": {"dataparallel": {"enabled": True}}}),
        "torch_smmp": lambda: torch(
            {
                "smdistributed": {
                    "modelparallel": {"enabled": True, "parameters": {"partitions": 2}}
                },
                "mpi": {"enabled": True, "processes_per_host": 8},
            }
        ),
        "image_distribution": lambda: of_image(distribution=mpi),
        "image_own_flags": lambda: of_image(
            hyperparameters={"sagemaker_mpi_enabled": True, "epochs": 3}
        ),
    }
    if version == "2.100.0":
        return {name: calls[name] for name in ("tf_mpi", "tf_none", *_OLD)}

    from sagemaker.instance_group import InstanceGroup

    large, small = (
        InstanceGroup("large", "ml.p3.16xlarge", 2),
        InstanceGroup("small", "ml.p3.8xlarge", 1),
    )

    def groups(distribution: Any) -> None:
        job = TensorFlow(
            entry_point="train.py",
            source_dir=".",
            role=ROLE,
            framework_version=tf_version,
            py_version=tf_python,
            instance_groups=[large, small],
            distribution=distribution,
        )
        data = TrainingInput("s3://my-bucket/data", instance_groups=["large"])
        job.fit({"training": data}, job_name="demo", wait=False)

    calls["groups_mpi"] = lambda: groups({**mpi, "instance_groups": [large]})
    calls["groups_none"] = lambda: groups(None)
    if version == "2.257.7":
        calls["torch_distributed_string"] = lambda: torch(
            {"torch_distributed": {"enabled": "false"}}
        )
        calls |= trainer("sagemaker.modules")
    return calls


_OLD = (
    "tf_parameter_server",
    "tf_mpi_upper_case",
    "torch_smddp",
    "torch_ddp",
    "torch_distributions",
)


def trainer(package: str) -> dict[str, Callable[[], None]]:
    """Calls of ModelTrainer, in SDK 2 and in SDK 3."""
    train = import_module("sagemaker.modules.train" if "modules" in package else package)
    configs = import_module(f"{package}.configs")
    distributed = import_module(f"{package}.distributed")

    def run(strategy: Any, command: str | None = None, hosts: int = 2) -> None:
        source = {"command": command} if command else {"entry_script": "train.py"}
        train.ModelTrainer(
            training_image=f"763104351884.dkr.ecr.{REGION}.amazonaws.com/pytorch-training:2.5.1-gpu-py311",
            role=ROLE,
            base_job_name="demo",
            source_code=configs.SourceCode(source_dir=".", **source),
            compute=configs.Compute(instance_type="ml.p4d.24xlarge", instance_count=hosts),
            distributed=strategy,
            hyperparameters={"epochs": 3},
        ).train(wait=False)

    return {
        "trainer_mpi": lambda: run(distributed.MPI(process_count_per_node=8)),
        "trainer_mpi_no_count": lambda: run(distributed.MPI()),
        "trainer_torchrun": lambda: run(distributed.Torchrun(process_count_per_node=8)),
        "trainer_torchrun_no_count": lambda: run(distributed.Torchrun()),
        "trainer_none": lambda: run(None),
        "trainer_one_host": lambda: run(distributed.Torchrun(process_count_per_node=8), hosts=1),
        "trainer_command": lambda: run(None, "torchrun --nproc_per_node 8 train.py"),
    }


def neutral(value: Any) -> str:
    """Without what differs from run to run, or names an account."""
    text = json.dumps(value, indent=1, default=str)
    return _DATED.sub("", text) + "\n"


def main(version: str, folder: Path) -> None:
    """Capture every call; a call that the SDK refuses sends nothing and is named."""
    from botocore.client import BaseClient

    BaseClient._make_api_call = _answer
    # The SDK counts its uses at a server of its own.
    with suppress(ImportError):
        vars(import_module("requests"))["get"] = lambda *words, **values: None
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp())
    Path("train.py").write_text("print(1)\n")
    calls = trainer("sagemaker.train") if version.startswith("3.") else calls_of_2(version)
    for name, call in calls.items():
        seen.clear()
        try:
            call()
        except Captured:
            (folder / f"{name}.json").write_text(neutral(seen[-1]))
        except Exception as error:
            print(f"  {name}: {type(error).__name__}: {str(error)[:200]}")
    print(f"  {datetime.date.today()}: {len(list(folder.glob('*.json')))} files")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
