"""What the channels of a CreateTrainingJob request become in a container, and where the code is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from launchers.core.model.containers import Channel
from launchers.core.model.document import at, entries
from launchers.sagemaker.document import SUBMIT_DIRECTORY, hyperparameter

DATA = "/opt/ml/input/data"


def input_data_config(document: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """inputdataconfig.json, as the toolkit reads it."""
    config = {}
    for channel in entries(document, "InputDataConfig"):
        source = at(channel, "DataSource", "S3DataSource") or {}
        config[str(channel.get("ChannelName"))] = {
            **({"ContentType": channel["ContentType"]} if "ContentType" in channel else {}),
            "TrainingInputMode": _mode(document, channel),
            "S3DistributionType": str(source.get("S3DataDistributionType", "FullyReplicated")),
            "RecordWrapperType": str(channel.get("RecordWrapperType", "None")),
        }
    return config


def channels(document: Mapping[str, Any], code: str) -> Iterator[Channel]:
    """The channels of data; that of ``code``, see :func:`code_of`, is none of them."""
    for channel in entries(document, "InputDataConfig"):
        path = f"{DATA}/{channel.get('ChannelName')}"
        if code.startswith(f"{path}/"):
            continue
        source = at(channel, "DataSource", "S3DataSource") or {}
        yield Channel(
            name=str(channel.get("ChannelName")),
            path=path,
            uri=_uri(channel),
            sharded=source.get("S3DataDistributionType") == "ShardedByS3Key",
            streamed=_mode(document, channel) == "Pipe",
        )


def _mode(document: Mapping[str, Any], channel: Mapping[str, Any]) -> str:
    mode = at(document, "AlgorithmSpecification", "TrainingInputMode") or "File"
    return str(channel.get("InputMode", mode))


def _uri(channel: Mapping[str, Any]) -> str:
    """Where the data lies; an address that no object store has for what is no prefix of one."""
    system = at(channel, "DataSource", "FileSystemDataSource")
    if isinstance(system, Mapping):
        kind = {"EFS": "efs"}.get(str(system.get("FileSystemType")), "fsx")
        return f"{kind}://{system.get('FileSystemId')}{system.get('DirectoryPath')}"
    source = at(channel, "DataSource", "S3DataSource") or {}
    uri = str(source.get("S3Uri", ""))
    # What a manifest names is not downloaded.
    return uri if source.get("S3DataType", "S3Prefix") == "S3Prefix" else f"manifest {uri}"


def code_of(document: Mapping[str, Any]) -> str:
    """Where the bundle is expected: the file that its channel's object becomes, or an address."""
    place = hyperparameter(document, SUBMIT_DIRECTORY)
    if not isinstance(place, str):
        return ""
    if place.startswith("s3://"):
        return place
    for channel in entries(document, "InputDataConfig"):
        folder = f"{DATA}/{channel.get('ChannelName')}/"
        if place.startswith(folder):
            uri = str(at(channel, "DataSource", "S3DataSource", "S3Uri") or "")
            # The service names a file after its object, whatever the toolkit looks for.
            return folder + (uri.rpartition("/")[2] or place.removeprefix(folder))
    return ""
