"""The host's AWS credentials for containers, on request: in memory, owner-only, read-only.

The engine keeps a container's environment on disk and AWS's toolkit writes it to
/etc/environment, so credentials never go there; only the name of the file does.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from launchers.core.model.containers import Container
from launchers.core.model.problems import EXIT_PREFLIGHT, LaunchError, Problem

PATH = "/launch/credentials"
VARIABLE = "AWS_SHARED_CREDENTIALS_FILE"
# For an object store that looks at no signature; boto3 signs a request before it sends it.
PLACEHOLDER = b"[default]\naws_access_key_id = rehearsal\naws_secret_access_key = rehearsal\n"


def write_credentials(folder: Path) -> Path:
    """Write the credentials that boto3 finds here into a file of ``folder``; may block.

    Raises:
        LaunchError: It finds none.
    """
    import boto3

    found = boto3.Session().get_credentials()
    if found is None:
        raise LaunchError(
            Problem(
                "--with-credentials",
                "no AWS credentials on this machine",
                "what boto3 finds: a profile, variables, a role",
                rule="no-credentials",
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


def with_credentials(containers: Sequence[Container], file: Path) -> list[Container]:
    """``containers`` with the file mounted read-only and named in their environment."""
    return [
        replace(
            container,
            mounts={**container.mounts, PATH: str(file)},
            environment={**container.environment, VARIABLE: PATH},
        )
        for container in containers
    ]


def with_placeholder(containers: Sequence[Container]) -> list[Container]:
    """``containers`` with credentials that open nothing."""
    return [
        replace(
            container,
            files={**container.files, PATH: PLACEHOLDER},
            environment={**container.environment, VARIABLE: PATH},
        )
        for container in containers
    ]
