"""Lines about tracking; no value of a credential stands in any."""

from __future__ import annotations

import os
import re
import sys

from ..errors import TrainingError

# What MLflow's client and Databricks' take as proof of who one is.
CREDENTIALS = (
    "MLFLOW_TRACKING_PASSWORD",
    "MLFLOW_TRACKING_TOKEN",
    "MLFLOW_TRACKING_USERNAME",
    "DATABRICKS_TOKEN",
    "DATABRICKS_CLIENT_SECRET",
)
_LONGEST = 200
# At a word's start alone: an answer of a megabyte without a blank would else take minutes, in which
# no step is made.
_WHO = re.compile(r"(?<!\w)(\w+://)[^/\s]*@")
# How the errors of MLflow's client and of requests end up, in fewer words.
_SHORT = (
    (re.compile(r"too many (\d{3}) error responses"), r"answers \1"),
    (re.compile(r"CERTIFICATE_VERIFY_FAILED"), "its certificate is not trusted"),
    (re.compile(r"Connection refused"), "connection refused"),
    (re.compile(r"[Tt]imed out|[Tt]imeout"), "no answer in time"),
    (re.compile(r"Name or service not known|NameResolutionError|getaddrinfo"), "no such host"),
    (re.compile(r"Connection (?:aborted|reset)|RemoteDisconnected"), "the connection broke"),
    (re.compile(r"error code (\d{3})"), r"answers \1"),
)
_BY_STATUS = {
    "its certificate is not trusted": " (see MLFLOW_TRACKING_SERVER_CERT_PATH)",
    "answers 401": " (unauthorized: see MLFLOW_TRACKING_USERNAME, _PASSWORD and _TOKEN)",
    "answers 403": " (forbidden)",
    # What a client makes of a redirect: a GET where there was a POST.
    "answers 405": " (method not allowed: does the address redirect, to https:// perhaps?)",
}


def say(line: str) -> None:
    """One line on standard output, in one piece although several threads write there."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def reason(error: BaseException) -> str:
    """Why an attempt failed, in one short line."""
    text = without_credentials(str(error))
    for pattern, short in _SHORT:
        match = pattern.search(text)
        if match:
            words = match.expand(short)
            return words + _BY_STATUS.get(words, "")
    line = " ".join(text.split())[:_LONGEST]
    if isinstance(error, TrainingError):
        return line
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def without_credentials(text: str) -> str:
    """``text`` without the values of this process's own, and without those in addresses."""
    for name in CREDENTIALS:
        value = os.environ.get(name, "")
        if value:
            text = text.replace(value, "***")
    return _WHO.sub(r"\1***@", text)
