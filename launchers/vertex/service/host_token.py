"""A token of this machine's Google account for a rehearsal's containers, on request.

They get it as replicas do, from a metadata server. No key and no refresh token leaves this
machine's own files, and the engine's disk sees none of it.
"""

from __future__ import annotations

import json
import os
from datetime import timezone
from pathlib import Path
from typing import Any

from launchers.core.model.problems import EXIT_PREFLIGHT, LaunchError
from launchers.vertex.catalogue import RULES

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
            RULES["no-credentials"].at(
                "--with-credentials",
                f"no token of Google Cloud: {' '.join(str(error).split())[:200]}",
                "application default credentials that work",
                "gcloud auth application-default login",
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
