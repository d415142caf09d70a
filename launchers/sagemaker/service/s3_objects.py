"""Reading objects of S3, or of an endpoint that speaks its language, into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from launchers.core.model.problems import EXIT_PROVIDER, LaunchError, Problem
from launchers.sagemaker.catalogue import RULES


def fetch(uri: str, folder: Path, what: str, endpoint: str | None) -> None:
    """Copy every object below ``uri`` into ``folder``, as SageMaker's File mode names them.

    The names below the prefix's last folder are kept (``s3://b/data`` gives ``train/a`` for
    ``data/train/a``); one that leads out of the folder is refused. Blocks.

    Args:
        what: Names the purpose in a problem.
        endpoint: Its address, or None for AWS's own.

    Raises:
        LaunchError: The endpoint refuses, or has no such object.
    """
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    def problem(found: str) -> Problem:
        return RULES["channel-data"].at(what, f"{uri} at {endpoint or 'AWS'}: {found[:200]}")

    client: Any = boto3.client("s3", endpoint_url=endpoint)
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    try:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
        keys = [key for key in keys if not key.endswith("/")]
        for key in keys:
            target = place_of(key, prefix, keys, folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            client.download_file(bucket, key, str(target))
    except (BotoCoreError, ClientError) as error:
        raise LaunchError(problem(str(error)), EXIT_PROVIDER) from None
    if not keys:
        raise LaunchError(problem("no object begins with it"))


def place_of(key: str, prefix: str, keys: list[str], folder: Path) -> Path:
    """Where an object lies below ``folder``.

    Raises:
        LaunchError: Its name would lead out.
    """
    is_folder = prefix.endswith("/") or any(other.startswith(f"{prefix}/") for other in keys)
    start = len(prefix) if is_folder else prefix.rfind("/") + 1
    name = key[start:].lstrip("/")
    if not name or ".." in name.split("/"):
        raise LaunchError(RULES["object-name"].at("object", key))
    return folder / name
