"""A token of this machine's Google account for containers, on request: in memory, owner-only.

Containers get it as replicas do, from a metadata server, which is a container beside them. No key
and no refresh token leaves this machine's own files, and the engine's disk sees none of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import timezone
from pathlib import Path
from typing import Any

from launchers.core.model.containers import Container
from launchers.core.model.problems import EXIT_PREFLIGHT, LaunchError, Problem

# Google's client libraries ask for the second one first, to learn whether there is a server.
_VARIABLES = ("GCE_METADATA_HOST", "GCE_METADATA_IP")
HOST = "metadata.google.internal"
_SERVER = Path(__file__).with_name("metadata_server.py")
_TOKEN = "/launch/token.json"
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_NOBODY = "default"  # an account of a person, whose address a token does not tell


def write_token(folder: Path) -> Path:
    """Write a new token of the application default credentials into a file of ``folder``.

    Blocks on the network. It is good for as long as Google gives it, an hour as a rule.

    Raises:
        LaunchError: There are no such credentials, or they give no token.
    """
    import google.auth
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import Request

    found: Any
    try:
        found, project = google.auth.default(scopes=_SCOPES)
        found.refresh(Request())
    except GoogleAuthError as error:
        raise LaunchError(
            Problem(
                "--with-credentials",
                f"no token of Google Cloud: {' '.join(str(error).split())[:200]}",
                "application default credentials that work",
                "gcloud auth application-default login",
                rule="no-credentials",
            ),
            EXIT_PREFLIGHT,
        ) from None
    told = {
        "token": found.token,
        # google-auth's times are UTC without saying so.
        "expires": found.expiry.replace(tzinfo=timezone.utc).timestamp(),
        "project": project or "",
        "email": getattr(found, "service_account_email", "") or _NOBODY,
    }
    path = folder / "token.json"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(told, stream)
    return path


def token_server(image: str, file: Path) -> Container:
    """The container that hands out the token in ``file``; ``image`` must have python3."""
    return Container(
        name="launch-metadata",
        hostname="launch-metadata",
        address=HOST,
        image=image,
        entrypoint=("python3", "/launch/metadata_server.py", _TOKEN),
        command=(),
        environment={},
        files={"/launch/metadata_server.py": _SERVER},
        mounts={_TOKEN: str(file)},
    )


def with_server(containers: Sequence[Container]) -> list[Container]:
    """``containers`` that find the server by its name; on Google's machines it is at an address
    that no network of an engine has."""
    named = dict.fromkeys(_VARIABLES, HOST)
    return [
        replace(container, environment={**named, **container.environment})
        for container in containers
    ]


def without_server(containers: Sequence[Container]) -> list[Container]:
    """``containers`` that find no metadata server by its name, also where this machine is one of
    Google's and has an account of its own."""
    return [
        replace(container, names={**container.names, HOST: "127.0.0.1"}) for container in containers
    ]
