"""Makes launchers/sagemaker/tables/machines.json: every training instance type and its hardware.

Names are those of botocore's TrainingInstanceType; hardware is what EC2's DescribeInstanceTypes
says of the type without its `ml.`, which moto ships. moto drops a type when EC2 does: rows that no
installed source describes keep what machines.json has, so `--moto VERSION` (p2 and p3 are in
5.0.0) is needed only once. What neither knows stands in sagemaker_gpus.json.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from infra.refresh.files import SAGEMAKER, Document, file_of, main, read_json, version_of

FILE = SAGEMAKER / "tables" / "machines.json"
GPUS = Path(__file__).with_name("sagemaker_gpus.json")
MODEL = "data/sagemaker/2017-07-24/service-2.json.gz"
HARDWARE = "ec2/resources/instance_types.json"

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("--moto", {"action": "append", "default": [], "help": "an older version to download, too"}),
    ("--toolkit", {"action": "append", "default": [], "help": "sagemaker-training, likewise"}),
]


def make(options: argparse.Namespace, old: Document) -> Document:
    """Every name of the enumeration with its row.

    Raises:
        SystemExit: A type that no source describes, or a GPU that sagemaker_gpus.json lacks.
    """
    by_hand = read_json(GPUS)
    names = read_json(file_of("botocore", MODEL))["shapes"]["TrainingInstanceType"]["enum"]
    described = _described(options.moto)
    regions = _regions()
    kept = old.get("machines", {})
    machines: Document = {}
    for name in names:
        kind = name.removeprefix("ml.")
        if kind in described:
            hardware, source = described[kind]
            machines[name] = {**_row(hardware), "regions": regions.get(kind, 0), **source}
        elif name in by_hand["machines"]:
            machines[name] = by_hand["machines"][name]
        elif name in kept:
            machines[name] = {"source": old["sources"]["hardware"], **kept[name], "regions": 0}
    _require(not (lost := [name for name in names if name not in machines]), "hardware", lost)
    used = {row["gpu"] for row in machines.values() if "gpu" in row}
    _require(used <= set(by_hand["gpus"]), "GPU", sorted(used - set(by_hand["gpus"])))
    return {
        "about": "SageMaker's training instance types and their hardware. Generated; do not edit.",
        "sources": {
            "names": f"botocore {version_of('botocore')}, TrainingInstanceType",
            # EC2's DescribeInstanceTypes; a row that is from elsewhere says so.
            "hardware": f"moto {version_of('moto')}",
            "regions": f"moto {version_of('moto')}, DescribeInstanceTypeOfferings: EC2 regions",
            "gpus": by_hand["sources"],
            "efa_by_toolkit": "sagemaker-training, SM_EFA_NCCL_INSTANCES of the version named",
        },
        "date": "",
        "gpus": {gpu: facts for gpu, facts in by_hand["gpus"].items() if gpu in used},
        "defaults": by_hand["defaults"],
        "efa_by_toolkit": {**old.get("efa_by_toolkit", {}), **_toolkits(options.toolkit)},
        "machines": machines,
    }


def _require(holds: bool, what: str, names: list[str]) -> None:
    if not holds:
        raise SystemExit(f"{what} of {', '.join(names)}: add it to {GPUS}, with its source")


def _row(hardware: Document) -> Document:
    """The columns of one instance type; what is zero or false is left out."""
    gpus = hardware.get("GpuInfo", {}).get("Gpus", [])
    neuron = hardware.get("NeuronInfo", {}).get("NeuronDevices", [])
    architectures = hardware["ProcessorInfo"]["SupportedArchitectures"]
    row: Document = {
        "vcpus": hardware["VCpuInfo"]["DefaultVCpus"],
        "memory_gib": _gib(hardware["MemoryInfo"]["SizeInMiB"]),
        "gpus": sum(gpu["Count"] for gpu in gpus),
        "gpu": gpus[0]["Name"] if gpus else "",
        "gpu_memory_gib": _gib(gpus[0]["MemoryInfo"]["SizeInMiB"]) if gpus else 0,
        "accelerator": neuron[0]["Name"] if neuron else "",
        "efa": hardware["NetworkInfo"].get("EfaSupported", False),
        "local_nvme_gb": hardware.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
        "cpu": "arm64" if "arm64" in architectures else "",
    }
    return {column: value for column, value in row.items() if value}


def _gib(mib: int) -> float:
    gib = round(mib / 1024, 2)
    return int(gib) if gib == int(gib) else gib


def _described(older: list[str]) -> dict[str, tuple[Document, Document]]:
    """By EC2 name: its description, and its source where that is not the installed moto."""
    types: Document = {}
    sources: Document = {}
    for version in older:
        with tempfile.TemporaryDirectory() as folder:
            wheel = zipfile.ZipFile(_downloaded("moto", version, folder))
            with wheel.open(f"moto/{HARDWARE}") as stream:
                found = json.load(stream)
        types.update(found)
        sources.update({name: {"source": f"moto {version}"} for name in found})
    newest = read_json(file_of("moto", f"{HARDWARE}.gz"))
    types.update(newest)
    sources.update({name: {} for name in newest})
    return {name: (facts, sources[name]) for name, facts in types.items()}


def _regions() -> dict[str, int]:
    """By EC2 name: how many regions offer it."""
    count: dict[str, int] = {}
    folder = file_of("moto", f"{HARDWARE}.gz").parent / "instance_type_offerings" / "region"
    for file in folder.glob("*.json.gz"):
        for offer in read_json(file):
            count[offer["InstanceType"]] = count.get(offer["InstanceType"], 0) + 1
    return count


def _toolkits(versions: list[str]) -> dict[str, list[str]]:
    """By version of sagemaker-training: the types for which it sets EFA up by itself."""
    lists = {}
    for version in versions:
        with tempfile.TemporaryDirectory() as folder:
            tree = ast.parse(_package_init(_downloaded("sagemaker-training", version, folder)))
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == (
                "SM_EFA_NCCL_INSTANCES"
            ):
                lists[version] = ast.literal_eval(node.value)
    return lists


def _package_init(archive: Path) -> bytes:
    with tarfile.open(archive) as files:
        for name in files.getnames():
            if name.endswith("src/sagemaker_training/__init__.py"):
                stream = files.extractfile(name)
                assert stream is not None
                return stream.read()
    raise FileNotFoundError(f"{archive}: no sagemaker_training/__init__.py")


def _downloaded(package: str, version: str, folder: str) -> Path:
    kind = "--no-binary" if package == "sagemaker-training" else "--only-binary"
    command = ["-m", "pip", "download", "--quiet", "--no-deps", kind, ":all:", "--dest", folder]
    subprocess.run([sys.executable, *command, f"{package}=={version}"], check=True)
    (file,) = Path(folder).iterdir()
    return file


if __name__ == "__main__":
    raise SystemExit(main("infra.refresh.sagemaker_machines", FILE, make, OPTIONS))
