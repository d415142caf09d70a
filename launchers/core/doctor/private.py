"""What of this machine and its user must not stand in a file for others: credentials, and who and
where somebody is."""

from __future__ import annotations

import base64
import binascii
import configparser
import getpass
import json
import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from launchers.core.credentials.elsewhere import without_credentials
from launchers.core.credentials.names import kind_of_name_in_text
from launchers.core.credentials.search import looks_like_credential, scan_text
from launchers.core.paths import at_home

SECRET = "***"
# Below it a text is a word that stands elsewhere by chance.
_LEAST_SECRET, _LEAST_NAME = 6, 3
_LARGEST_FILE = 1 << 20
_NOBODY = ("root", "user", "ubuntu", "runner", "default")
# What says who and where, by its form; the words in front stay.
_FORMS = (
    (re.compile(r"(?<![\w.])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "<email>"),
    (
        re.compile(
            r"(:(?:user|role|assumed-role|federated-user|instance-profile)/)[^\s\"',;)\]}]+"
        ),
        r"\1<name>",
    ),
    (re.compile(r"(?<![0-9A-Za-z])\d{12}(?!\.?[0-9A-Za-z])"), "<account>"),
    (re.compile(r"((?:s3|gs)://)[^/\s\"',;)\]}]+"), r"\1<bucket>"),
    (re.compile(r"(\bprojects/)[^/\s\"',;)\]}]+"), r"\1<project>"),
    (
        # Java's and some packages' versions have four numbers, too.
        re.compile(
            r"(?<![\w.])(?<!==)(?<!Java )(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?!\.?\d)"
        ),
        "<address>",
    ),
    (re.compile(r"(/(?:home|Users)/)[^/\s\"':;]+"), r"\1<user>"),
    # A URL's user and password, of whatever form the password is.
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^/\s@\"']+@"), rf"\1{SECRET}@"),
    # An address's questions carry signatures.
    (re.compile(r"(\bhttps?://[^\s\"'?]+\?)[^\s\"']+"), rf"\1{SECRET}"),
)


class Private:
    """Takes out of texts what is this user's alone.

    Reads the environment, and the files in which AWS's, Google's and Docker's tools and curl keep
    credentials: each secret in them is taken out wherever it stands, whatever it looks like.

    Args:
        more: Further secrets.
    """

    def __init__(self, more: Iterable[str] = ()):
        secrets = {*_of_environment(), *_of_files(), *more}
        found = {one.strip() for one in secrets if len(one.strip()) >= _LEAST_SECRET}
        # The longer first: one may be a part of another.
        self._secrets = sorted(found, key=lambda one: (-len(one), one))
        self._names = list(_names())

    def text(self, text: str) -> str:
        """``text`` without them; a line that holds what looks like a credential is left out."""
        for secret in self._secrets:
            text = text.replace(secret, SECRET)
        lines = without_credentials(text).splitlines()
        for number, kind in scan_text("\n".join(lines), "configuration"):
            lines[number - 1] = f"{SECRET} (a line with {kind})"
        text = "\n".join(lines)
        for name, word in self._names:
            text = name.sub(word, text)
        for form, word in _FORMS:
            text = form.sub(word, text)
        return text

    def value(self, value: Any) -> Any:
        """The same of whatever JSON can hold."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(inner) for key, inner in value.items()}
        return [self.value(one) for one in value] if isinstance(value, list | tuple) else value


def _of_environment() -> Iterator[str]:
    for name, value in os.environ.items():
        if kind_of_name_in_text(name) or looks_like_credential(name, value):
            yield value
            yield from value.splitlines()


def _names() -> Iterator[tuple[re.Pattern[str], str]]:
    """Texts that say who and where this is, as patterns, and what stands for them."""
    home = os.path.expanduser("~")
    if len(home) > len("/root"):
        yield re.compile(re.escape(home)), "~"
    project = next(
        (
            os.environ[name]
            for name in ("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT")
            if os.environ.get(name)
        ),
        "",
    )
    named = {
        "<user>": _user(),
        "<host>": socket.gethostname(),
        "<project>": project,
        "<profile>": os.environ.get("AWS_PROFILE", ""),
    }
    for word, name in named.items():
        if len(name) >= _LEAST_NAME and name not in _NOBODY:
            yield re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"), word


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a number without a name
        return ""


def _of_files() -> Iterator[str]:
    aws = (
        ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
        ("AWS_CONFIG_FILE", "~/.aws/config"),
    )
    for variable, usual in aws:
        yield from _of_ini(_text(os.environ.get(variable) or usual))
    for folder in ("~/.aws/sso/cache", "~/.aws/cli/cache"):
        for file in sorted(at_home(folder).glob("*.json"))[:50]:
            yield from _of_json(_text(str(file)))
    docker = os.environ.get("DOCKER_CONFIG") or "~/.docker"
    yield from _of_json(_text(f"{docker}/config.json"))
    google = os.environ.get("CLOUDSDK_CONFIG") or "~/.config/gcloud"
    yield from _of_json(_text(f"{google}/application_default_credentials.json"))
    yield from _of_json(_text(os.environ.get("GOOGLE_APPLICATION_CREDENTIALS") or ""))
    yield from re.findall(r"\bpassword\s+(\S+)", _text(os.environ.get("NETRC") or "~/.netrc"))


def _text(file: str) -> str:
    """What the file holds; empty where it cannot be read."""
    path = at_home(file)
    try:
        if not file or not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="replace") as stream:
            return stream.read(_LARGEST_FILE)
    except OSError:
        return ""


def _of_ini(text: str) -> Iterator[str]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for section in parser.sections():
        for name, value in parser.items(section):
            if kind_of_name_in_text(name) or looks_like_credential(name, value):
                yield value


def _of_json(text: str) -> Iterator[str]:
    try:
        value = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return
    yield from _secrets_in(value, "")


def _secrets_in(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _secrets_in(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _secrets_in(inner, name)
    elif isinstance(value, str) and (_is_secret(name) or looks_like_credential(name, value)):
        yield value
        yield from value.splitlines()
        if name == "auth":
            yield from _decoded(value)


def _is_secret(name: str) -> bool:
    """Names in these files, besides those that are secret anywhere."""
    own = ("auth", "identitytoken", "registrytoken", "private_key_id", "accesstoken")
    return name.lower() in own or bool(kind_of_name_in_text(name))


def _decoded(value: str) -> Iterator[str]:
    """The user and password that Docker keeps as one text in base64."""
    try:
        text = base64.b64decode(value, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return
    yield text
    yield text.partition(":")[2]
