"""What a build takes from this machine: package indexes, CA bundle, proxies.

All of it reaches the build stage alone, as files of the build context or as Docker's predefined
proxy arguments, which no history shows; the final image has none of it.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from launchers.core.model.problems import LaunchError
from launchers.image.catalogue import RULES

# pip's own order of environment variables and settings that name a bundle of certificates.
_CA_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
_CERTIFICATE = re.compile(
    rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\r?\n?", re.DOTALL
)
_CA_IN_BUILD = "/host/ca.pem"
# Docker hands these to a build's commands and keeps them out of layers and history
# (docs.docker.com/reference/dockerfile, "Predefined ARGs").
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY")
_URL_SETTINGS = ("index-url", "extra-index-url")
_OTHER_SETTINGS = ("trusted-host", "timeout", "default-timeout", "retries")
_FOLDER_SETTINGS = ("find-links",)


@dataclass(frozen=True)
class HostSettings:
    """What the build stage gets of this machine.

    Attributes:
        pip_conf: pip's configuration file for the build.
        ca_bundle: PEM certificates, nothing else; empty where the host names no bundle.
        proxies: Docker's predefined build arguments.
        network: "host" where an index or a proxy listens on this machine's loopback, which
            a container cannot reach; else None, Docker's own network.
        notes: Lines for a person: what was taken, what was left out.
    """

    pip_conf: str
    ca_bundle: bytes
    proxies: Mapping[str, str]
    network: str | None
    notes: tuple[str, ...]


def host_settings() -> HostSettings:
    """The settings of this machine; runs ``pip config list`` (about 0.5 s).

    Raises:
        LaunchError: A package index has a password in its address.
    """
    return settings_from(os.environ, _pip_config())


def settings_from(environment: Mapping[str, str], pip: Mapping[str, str]) -> HostSettings:
    """The settings that these variables and these lines of ``pip config list`` make.

    Args:
        environment: The host's environment.
        pip: ``global.index-url`` and the like to their values.

    Raises:
        LaunchError: A package index has a password in its address, which would stay in the
            build stage's layers on this machine.
    """
    notes: list[str] = []
    lines = ["[global]"]
    urls: list[str] = []
    for name in _URL_SETTINGS:
        kept = _reachable(name, _pip_value(name, environment, pip).split(), notes)
        urls += kept
        lines += [f"{name} = {' '.join(kept)}"] if kept else []
    for name in _OTHER_SETTINGS:
        value = _pip_value(name, environment, pip)
        lines += [f"{name} = {' '.join(value.split())}"] if value else []
    for name in _FOLDER_SETTINGS:
        _reachable(name, _pip_value(name, environment, pip).split(), notes)
    bundle = _ca_bundle(environment, pip, notes)
    lines += [f"cert = {_CA_IN_BUILD}"] if bundle else []
    names = [name for upper in _PROXIES for name in (upper, upper.lower())]
    proxies = {name: environment[name] for name in names if environment.get(name)}
    addresses = urls + [value for name, value in proxies.items() if name.upper() != "NO_PROXY"]
    network = "host" if any(_is_loopback(address) for address in addresses) else None
    if proxies:
        notes.append("proxies: " + ", ".join(sorted({name.upper() for name in proxies})))
    if network:
        notes.append("network: the host's, since an index or a proxy listens on its loopback")
    return HostSettings("\n".join(lines) + "\n", bundle, proxies, network, tuple(notes))


def _reachable(name: str, addresses: list[str], notes: list[str]) -> list[str]:
    """Those of ``addresses`` that a container can reach; a note of what was kept and left out."""
    web = [address for address in addresses if urlsplit(address).scheme in ("http", "https")]
    for address in web:
        if urlsplit(address).username or urlsplit(address).password:
            raise LaunchError(
                RULES["image-index-password"].at(
                    f"pip's {name}",
                    f"an address at {urlsplit(address).hostname} with a password in it",
                )
            )
    web = web if name in _URL_SETTINGS else []
    folders = [address for address in addresses if address not in web]
    if web:
        notes.append(f"pip's {name}: " + " ".join(web))
    if folders:
        notes.append(f"left out, pip's {name} is on this machine alone: {' '.join(folders)}")
    return web


def _ca_bundle(environment: Mapping[str, str], pip: Mapping[str, str], notes: list[str]) -> bytes:
    named = [(name, environment.get(name, "")) for name in _CA_VARIABLES]
    named.insert(1, ("pip's cert", _pip_value("cert", environment, pip)))
    for name, path in named:
        if not path:
            continue
        try:
            certificates = _CERTIFICATE.findall(Path(path).read_bytes())
        except OSError as error:
            notes.append(f"left out, {name}: {path}: {error.strerror}")
            continue
        if certificates:
            notes.append(f"CA bundle: {path} ({name}), in the build stage alone")
            # The certificates alone: such a file may hold a private key, too.
            return b"".join(certificates)
        notes.append(f"left out, {name}: {path} holds no certificate")
    return b""


def _pip_value(name: str, environment: Mapping[str, str], pip: Mapping[str, str]) -> str:
    variable = environment.get("PIP_" + name.upper().replace("-", "_"))
    if variable is not None:
        return variable
    return pip.get(f"install.{name}") or pip.get(f"global.{name}") or ""


def _pip_config() -> dict[str, str]:
    """What ``pip config list`` says; empty where this Python has no pip."""
    try:
        said = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    values = {}
    for line in said.splitlines():
        name, equals, text = line.partition("=")
        try:
            value = ast.literal_eval(text)
        except (SyntaxError, ValueError):
            continue
        if equals and isinstance(value, str):
            values[name] = value
    return values


def _is_loopback(address: str) -> bool:
    host = urlsplit(address if "://" in address else f"http://{address}").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
