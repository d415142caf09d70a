"""AWS's training images: their addresses, their Horovod, and the machines that they can drive.

The table is images.json; `python -m infra.refresh.sagemaker_images` makes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from launchers.core.model.problems import LaunchError, Problem, did_you_mean
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.tables.machines import Machine

_FILE = Path(__file__).with_name("images.json")

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Image:
    """An AWS Deep Learning Container, as far as its address and the table tell.

    Attributes:
        uri: Its address.
        framework: ``tensorflow`` or ``pytorch``; for other images of AWS their repository's name.
        version: Of the framework, ``2.12.0``; as the tag says it, empty without a tag.
        processor: ``gpu``, ``cpu``, or another accelerator's name; empty where unknown.
        python: ``3.10``; empty where unknown.
        cuda: ``11.8``; empty without CUDA or where unknown.
        horovod: ``0.27.0``; None for an image that has none; empty where it is not known.
        cpu_architecture: ``x86_64`` or ``arm64``.
        end_of_patch: The day after which AWS patches it no more, ``2024-10-28``; empty where AWS
            names none (any longer).
        last_release: The day of its last release, where that was read; else empty.
        refused: Why the guard cannot run in it, or empty.
        unfit: Why SageMaker cannot train with it, or empty.
    """

    uri: str
    framework: str
    version: str
    processor: str
    python: str
    cuda: str
    horovod: str | None
    cpu_architecture: str = "x86_64"
    end_of_patch: str = ""
    last_release: str = ""
    refused: str = ""
    unfit: str = ""

    @property
    def horovod_text(self) -> str:
        """``Horovod 0.27.0``, ``no Horovod``, or that it is not known."""
        if self.horovod:
            return f"Horovod {self.horovod}"
        return "no Horovod" if self.horovod is None else "its Horovod is not known"

    @property
    def end_of_patch_text(self) -> str:
        """What to know before relying on its security patches; empty where nothing is known."""
        if self.end_of_patch:
            return f"AWS's end of patch for it: {self.end_of_patch}"
        if self.last_release:
            return f"past its end of patch (last release {self.last_release})"
        return ""


@lru_cache(maxsize=1)
def load() -> Mapping[str, Any]:
    """The table as it stands in images.json."""
    table: dict[str, Any] = json.loads(_FILE.read_bytes())
    return table


def lookup(framework_version: str, gpu: bool, region: str) -> Image:
    """AWS's image of a framework version for a region.

    Args:
        framework_version: ``tensorflow-2.12`` (the patch version that the SageMaker SDK's own table
            has for it, so that the address says which it is) or ``tensorflow-2.12.0``.
        gpu: Whether the machine has GPUs.
        region: Where the job runs, ``eu-west-1``.

    Raises:
        LaunchError: No such framework, version, or no registry in the region. An image that exists
            and will not do, for its Horovod or its Python, is returned, and says so.
    """
    framework, _, wanted = framework_version.partition("-")
    version = _version(framework, wanted)
    if version is None:
        raise LaunchError(_unknown(framework_version))
    account = load()["registries"].get(region)
    row = load()["images"][f"{framework}-{version}"]
    if account is None or region in row.get("not_in", ()):
        raise LaunchError(_no_registry(region))
    domain = load()["domains"].get(region, "amazonaws.com")
    address = f"{account}.dkr.ecr.{region}.{domain}/{_name_and_tag(framework, version, row, gpu)}"
    image = parse(address)
    assert image is not None, address
    return image


def parse(uri: str) -> Image | None:
    """What is known of the image at ``uri``, or None where it is none of AWS's own.

    Every address of AWS's image accounts is recognised, whatever its repository and the form of
    its tag: ``2.12.0-gpu-py310``, ``2.12.0-gpu-py310-cu118-ubuntu20.04-sagemaker``,
    ``2.12-gpu-py310-cu118-ubuntu20.04-sagemaker-v1``, ``2.11.0-cu130-amzn2023-sagemaker``.
    """
    match = _ADDRESS.fullmatch(uri)
    if match is None or (match["account"] and match["account"] not in _accounts()):
        return None
    repository, words = match["repository"], (match["tag"] or "").split("-")
    framework = _FRAMEWORKS.get(repository, repository)
    version = words[0] if re.fullmatch(r"\d+(?:\.\d+)*", words[0]) else ""
    row = load()["images"].get(f"{framework}-{_version(framework, version, newest=True)}", {})
    cuda = _joined(r"cu(\d+)(\d)", words)
    processor = next((word for word in words if word in _PROCESSORS), "gpu" if cuda else "")
    python = _joined(r"py(3)(\d+)", words) or row.get("python", "")
    arm = bool(re.search(r"arm64|graviton", repository))
    return Image(
        uri=uri,
        framework=framework,
        version=version,
        processor=processor,
        python=python,
        cuda=cuda or (row.get("cuda", "") if processor == "gpu" else ""),
        horovod=row.get("horovod", {}).get(processor, ""),
        cpu_architecture="arm64" if arm else "x86_64",
        end_of_patch=load()["end_of_patch"].get(f"{framework} {_short(version)}", ""),
        last_release=row.get("last_release", ""),
        refused=_refused(python),
        unfit=_unfit(repository, words, match["account"], match["region"]),
    )


def with_horovod(framework: str | None = None) -> list[Image]:
    """The GPU images with Horovod that the guard can run in, newest first, one a minor version.

    The version is what :func:`lookup` takes for the minor version, or, where that one lost
    Horovod, the newest that has it. Addresses are those of us-east-1.
    """
    found: dict[tuple[str, str], Image] = {}
    for key, row in reversed(load()["images"].items()):
        name, _, version = key.partition("-")
        if framework not in (None, name) or not row.get("horovod", {}).get("gpu"):
            continue
        image = lookup(key, gpu=True, region="us-east-1")
        is_alias = load()["aliases"][name].get(_short(version)) == version
        if not image.refused and (is_alias or (name, _short(version)) not in found):
            found[name, _short(version)] = image
    return sorted(found.values(), key=lambda image: image.framework != "tensorflow")


def can_drive(image: Image, machine: Machine) -> str | None:
    """Why the programs in ``image`` cannot use what ``machine`` has; None where they can.

    Source of a GPU's CUDA releases: machines.json. An unknown CUDA is no reason.
    """
    if image.cpu_architecture != machine.cpu_architecture:
        return (
            f"an image for {image.cpu_architecture}; {machine.name} is {machine.cpu_architecture}"
        )
    if not machine.gpus:
        return None
    has = f"{machine.name} has {machine.gpu_text}"
    if image.processor == "cpu":
        return f"an image without CUDA; {has}"
    if not image.cuda:
        return None
    what = f"CUDA {image.cuda} cannot drive {machine.gpu_generation} GPUs"
    if _numbers(image.cuda) < _numbers(machine.cuda_minimum):
        return f"{what}, which need {machine.cuda_minimum} or later; {has}"
    if machine.cuda_maximum and _numbers(image.cuda) > _numbers(machine.cuda_maximum):
        return f"{what}, whose last is {machine.cuda_maximum}; {has}"
    return None


_ADDRESS = re.compile(
    r"(?:(?P<account>\d{12})\.dkr\.ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.[a-z0-9.-]+"
    r"|public\.ecr\.aws/deep-learning-containers)"
    r"/(?P<repository>[a-z0-9][a-z0-9._/-]*)"
    r"(?::(?P<tag>[\w.-]+))?(?:@sha256:[0-9a-f]{64})?"
)
_FRAMEWORKS = {
    "tensorflow-training": "tensorflow",
    "pytorch-training": "pytorch",
    "pytorch": "pytorch",
}
_PROCESSORS = ("gpu", "cpu", "hpu", "neuron", "neuronx")


@lru_cache(maxsize=1)
def _accounts() -> frozenset[str]:
    return frozenset(load()["registries"].values()) | frozenset(load()["older_accounts"])


def _version(framework: str, wanted: str, newest: bool = False) -> str | None:
    """The version of the table that ``wanted`` means, or None.

    A minor version alone means what the SDK, or ``newest``, takes for it: AWS moves the tag
    ``2.12-gpu`` along, the SDK's table stays.
    """
    table = load()
    if f"{framework}-{wanted}" in table["images"]:
        return wanted
    alias: str | None = table["aliases"].get(framework, {}).get(wanted)
    if alias and not newest:
        return alias
    patches = [key for key in table["images"] if key.startswith(f"{framework}-{wanted}.")]
    return patches[-1].partition("-")[2] if _short(wanted) == wanted and patches else None


def _name_and_tag(framework: str, version: str, row: Row, gpu: bool) -> str:
    """``tensorflow-training:2.12.0-gpu-py310``, as the SageMaker SDK forms it."""
    if row.get("repository") == "pytorch":
        # The newest images are tagged without processor and Python.
        kind = f"cu{row['cuda'].replace('.', '')}" if gpu else "cpu"
        return f"pytorch:{version}-{kind}-amzn2023-sagemaker"
    processor = "gpu" if gpu else "cpu"
    return f"{framework}-training:{version}-{processor}-py{row['python'].replace('.', '')}"


def _refused(python: str) -> str:
    minimum = load()["python_minimum"]
    if not python or _numbers(python) >= _numbers(minimum):
        return ""
    return f"Python {python}, and the guard needs {minimum} or later"


def _unfit(repository: str, words: list[str], account: str | None, region: str | None) -> str:
    if "inference" in repository:
        return "an image for inference"
    if "ec2" in words or "e3" in words:
        return "an image for EC2, without SageMaker's training toolkit"
    registry = load()["registries"].get(region)
    if account and registry and account != registry and account not in load()["older_accounts"]:
        return f"account {account} is not AWS's registry in {region}, which is {registry}"
    return ""


def _unknown(framework_version: str) -> Problem:
    have = [f"{image.framework}-{image.version}" for image in with_horovod()]
    known = [key for key, row in load()["images"].items() if "horovod" in row]
    near = did_you_mean(framework_version, have) or did_you_mean(framework_version, known)
    newest = [
        max(keys, key=lambda key: _numbers(key.partition("-")[2]))
        for name in dict.fromkeys(_FRAMEWORKS.values())
        if (keys := [key for key in known if key.startswith(f"{name}-")])
    ]
    return RULES["framework-unknown"].at(
        "--framework",
        framework_version,
        fix=f"{near} " * bool(near)
        + f"those with Horovod: {', '.join(have)}; without it up to {', '.join(newest)}",
    )


def _no_registry(region: str) -> Problem:
    return RULES["image-region"].at(
        "--region",
        region,
        fix=did_you_mean(region, load()["registries"]) or "give your own image: --image URI",
    )


def _joined(pattern: str, words: list[str]) -> str:
    """``11.8`` from the word ``cu118``; empty where no word matches."""
    matches = (re.fullmatch(pattern, word) for word in words)
    return next((".".join(match.groups()) for match in matches if match), "")


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
