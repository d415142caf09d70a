"""Values from Google's Secret Manager, with the replica's service account and no client library.

The token comes from the metadata server ("Authenticate workloads using service accounts",
cloud.google.com/compute/docs/access), the value from projects.secrets.versions.access of the
Secret Manager API v1.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import time
import urllib.error
import urllib.request
from typing import Any, Mapping, Sequence

# gcloud's own variable for another endpoint, and the client libraries' for another metadata server.
ENDPOINT_VARIABLE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER"
METADATA_VARIABLE = "GCE_METADATA_HOST"
_ENDPOINT = "https://secretmanager.googleapis.com"
_METADATA = "metadata.google.internal"
_ACCOUNT = "computeMetadata/v1/instance/service-accounts/default"
_TRY_AGAIN = (429, 500, 502, 503, 504)
_PAUSES = (0.5, 1.0, 2.0, 4.0)  # seconds; all ranks ask at the same moment
_SECONDS = 20.0  # for one answer
_FORM = re.compile(r"projects/([^/]+)/secrets/([^/]+)/versions/([^/]+)")


class NoValueError(Exception):
    """There is no value; ``why`` says the reason, never a value, and ``fix`` what to do."""

    def __init__(self, why: str, fix: str = ""):
        super().__init__(why, fix)
        self.why, self.fix = why, fix


def value(reference: str, environment: Mapping[str, str]) -> str:
    """The text of ``projects/P/secrets/NAME/versions/V``. Blocks on the network.

    Raises:
        NoValueError: It cannot be had, or is no text.
    """
    parts = _FORM.fullmatch(reference)
    if parts is None:
        raise NoValueError("no whole name", "use projects/PROJECT/secrets/NAME/versions/VERSION")
    metadata = environment.get(METADATA_VARIABLE) or _METADATA
    endpoint = (environment.get(ENDPOINT_VARIABLE) or _ENDPOINT).rstrip("/")
    address = f"{endpoint}/v1/{reference}:access"
    headers = {"Authorization": f"Bearer {_token(metadata)}"}
    try:
        answer = _get(address, headers, direct=False)
    except urllib.error.HTTPError as error:
        raise _refused(error, parts.groups(), metadata) from None
    except (OSError, ValueError) as error:
        raise NoValueError(
            f"no answer from {endpoint}: {_short(error)}",
            "the replica's network must lead to Google's APIs (Private Google Access)",
        ) from None
    return _text(answer)


def _token(metadata: str) -> str:
    try:
        return str(_metadata(metadata, "token")["access_token"])
    except urllib.error.HTTPError as error:
        raise NoValueError(
            f"the metadata server {metadata} gives no token (HTTP {error.code})",
            "the job needs a service account: --service-account",
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoValueError(
            f"no metadata server at {metadata}: {_short(error)}",
            "Secret Manager is read on Google Cloud alone; elsewhere use env: or file:",
        ) from None


def _refused(error: urllib.error.HTTPError, parts: Sequence[str], metadata: str) -> NoValueError:
    """What Secret Manager's answer means, with the line that repairs it."""
    try:
        told = str(json.loads(error.read())["error"]["message"])
    except (OSError, ValueError, KeyError, TypeError):
        told = str(error.reason)
    told = f"HTTP {error.code}: {' '.join(told.split())[:200]}"
    project, name, version = parts
    where = f"{name} --project {project}"
    if error.code == 403:
        account = _account(metadata)
        return NoValueError(
            f"the job's service account {account} may not read it ({told})",
            f"gcloud secrets add-iam-policy-binding {where} --member serviceAccount:{account} "
            "--role roles/secretmanager.secretAccessor",
        )
    if error.code == 404:
        fix = f"gcloud secrets versions list {where}"
        return NoValueError(f"there is no such secret or version ({told})", fix)
    if error.code == 400:
        fix = f"gcloud secrets versions enable {version} --secret {where}"
        return NoValueError(f"the version is disabled or destroyed ({told})", fix)
    return NoValueError(told)


def _account(metadata: str) -> str:
    try:
        return str(_metadata(metadata, "?recursive=true")["email"])
    except (OSError, ValueError, KeyError, TypeError):
        return "ACCOUNT"


def _text(answer: Any) -> str:
    try:
        payload = answer["payload"]
        data = base64.b64decode(payload.get("data", ""), validate=True)
        checksum = int(payload.get("dataCrc32c") or crc32c(data))
    except (KeyError, TypeError, AttributeError, ValueError, binascii.Error):
        raise NoValueError("Secret Manager's answer has no payload") from None
    if checksum != crc32c(data):
        raise NoValueError("the value was damaged on its way (CRC32C)", "start the job again")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise NoValueError("the secret is no UTF-8 text", "store it as text") from None


def crc32c(data: bytes) -> int:
    """The checksum that Secret Manager gives with a payload (RFC 3720, appendix B.4)."""
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (0x82F63B78 if remainder & 1 else 0)
    return remainder ^ 0xFFFFFFFF


def _metadata(host: str, what: str) -> Any:
    slash = "" if what.startswith("?") else "/"
    address = f"http://{host}/{_ACCOUNT}{slash}{what}"
    return _get(address, {"Metadata-Flavor": "Google"}, direct=True)


def _get(address: str, headers: Mapping[str, str], direct: bool) -> Any:
    """The JSON at ``address``, asked for again where the service is busy.

    Args:
        direct: Past any proxy.
    """
    proxies = [urllib.request.ProxyHandler({})] if direct else []
    opener = urllib.request.build_opener(*proxies)
    request = urllib.request.Request(address, headers=dict(headers))
    for pause in (*_PAUSES, None):
        try:
            with opener.open(request, timeout=_SECONDS) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            if error.code not in _TRY_AGAIN or pause is None:
                raise
            error.close()
            time.sleep(pause)
    raise AssertionError("the last try answers or raises")


def _short(error: Exception) -> str:
    return " ".join(str(getattr(error, "reason", "") or error).split())[:150]
