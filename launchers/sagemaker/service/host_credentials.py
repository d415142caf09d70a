"""This machine's AWS credentials in a file for a rehearsal's containers, on request."""

from __future__ import annotations

import os
from pathlib import Path

from launchers.core.model.problems import EXIT_PREFLIGHT, LaunchError
from launchers.sagemaker.catalogue import RULES


def write_credentials(folder: Path) -> Path:
    """Write the credentials that boto3 finds here into a file of ``folder``; may block.

    Raises:
        LaunchError: It finds none.
    """
    import boto3

    found = boto3.Session().get_credentials()
    if found is None:
        raise LaunchError(
            RULES["no-credentials"].at(
                "--with-credentials",
                "no AWS credentials on this machine",
                "what boto3 finds: a profile, variables, a role",
            ),
            EXIT_PREFLIGHT,
        )
    frozen = found.get_frozen_credentials()
    lines = [
        "[default]",
        f"aws_access_key_id = {frozen.access_key}",
        f"aws_secret_access_key = {frozen.secret_key}",
    ]
    if frozen.token:
        lines.append(f"aws_session_token = {frozen.token}")
    path = folder / "credentials"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines) + "\n")
    return path
