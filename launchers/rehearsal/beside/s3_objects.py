"""Reading objects of S3, or of an endpoint that speaks its language, into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from launchers.core.model.problems import EXIT_PROVIDER, LaunchError, Problem


class Objects:
    """An S3 endpoint as boto3 reaches it; boto3 is imported here and nowhere before.

    Args:
        endpoint: Its address, or None for AWS's own.
    """

    def __init__(self, endpoint: str | None):
        import boto3

        self._endpoint = endpoint
        self._client: Any = boto3.client("s3", endpoint_url=endpoint)

    def fetch(self, uri: str, folder: Path, what: str) -> None:
        """Copy every object below ``uri`` into ``folder``, as SageMaker's File mode names them.

        The names below the prefix's last folder are kept (``s3://b/data`` gives ``train/a`` for
        ``data/train/a``); one that leads out of the folder is refused. Blocks.

        Args:
            what: Names the purpose in a problem.

        Raises:
            LaunchError: The endpoint refuses, or has no such object.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        bucket, _, prefix = uri.removeprefix("s3://").partition("/")
        try:
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=bucket, Prefix=prefix
            )
            keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
            keys = [key for key in keys if not key.endswith("/")]
            for key in keys:
                target = place_of(key, prefix, keys, folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                self._client.download_file(bucket, key, str(target))
        except (BotoCoreError, ClientError) as error:
            raise LaunchError(self._problem(what, uri, str(error)), EXIT_PROVIDER) from None
        if not keys:
            raise LaunchError(self._problem(what, uri, "no object begins with it"))

    def _problem(self, what: str, uri: str, found: str) -> Problem:
        where = self._endpoint or "AWS"
        return Problem(
            what,
            f"{uri} at {where}: {found[:200]}",
            "objects that can be read",
            "give a folder instead: --local-channel NAME=DIR",
            rule="channel-data",
        )


def place_of(key: str, prefix: str, keys: list[str], folder: Path) -> Path:
    """Where an object lies below ``folder``.

    Raises:
        LaunchError: Its name would lead out.
    """
    is_folder = prefix.endswith("/") or any(other.startswith(f"{prefix}/") for other in keys)
    start = len(prefix) if is_folder else prefix.rfind("/") + 1
    name = key[start:].lstrip("/")
    if not name or ".." in name.split("/"):
        raise LaunchError(
            Problem("object", key, "a name that stays in its folder", rule="object-name")
        )
    return folder / name
