"""Where this machine gets Debian's packages from, for the base image that is made of them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT_MIRROR = "http://deb.debian.org/debian"
DEFAULT_SECURITY = "http://deb.debian.org/debian-security"
_ONE_LINE = re.compile(r"^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)$")


@dataclass(frozen=True)
class AptSources:
    """Debian's mirrors as this machine uses them.

    Attributes:
        mirror: The archive's address.
        security: The address of the security updates.
        proxy: What apt goes through, or an empty string; never written into an image.
    """

    mirror: str = DEFAULT_MIRROR
    security: str = DEFAULT_SECURITY
    proxy: str = ""

    def environment(self) -> dict[str, str]:
        """What debootstrap's downloads need beside this process's environment."""
        return {"http_proxy": self.proxy} if self.proxy else {}

    def text(self, suite: str) -> str:
        """sources.list of the image."""
        return (
            f"deb {self.mirror} {suite} main\n"
            f"deb {self.mirror} {suite}-updates main\n"
            f"deb {self.security} {suite}-security main\n"
        )


def host_sources(folder: Path = Path("/etc/apt")) -> AptSources:
    """The sources of this machine; Debian's own servers where it names none, or is no Debian."""
    files = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
    entries: list[tuple[str, str]] = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        entries += _deb822(text) if file.suffix == ".sources" else _lines(text)
    return AptSources(
        mirror=_first(entries, "debian", ("-security",), DEFAULT_MIRROR),
        security=_first(entries, "debian-security", (), DEFAULT_SECURITY),
        proxy=_apt_proxy(),
    )


def _first(
    entries: Iterable[tuple[str, str]], archive: str, not_suites: tuple[str, ...], default: str
) -> str:
    """The first address whose path ends in ``archive``, without a password in it."""
    for address, suite in entries:
        parts = urlsplit(address)
        if (
            parts.scheme in ("http", "https")
            and parts.path.rstrip("/").endswith(f"/{archive}")
            and not suite.endswith(not_suites or ("\n",))
            and not parts.username
        ):
            return address.rstrip("/")
    return default


def _lines(text: str) -> list[tuple[str, str]]:
    """(address, suite) of the one-line format, ``deb [options] ADDRESS SUITE main``."""
    found = []
    for line in text.splitlines():
        match = _ONE_LINE.match(line.strip())
        if match and "main" in match[3].split():
            found.append((match[1], match[2]))
    return found


def _deb822(text: str) -> list[tuple[str, str]]:
    """(address, suite) of the format with ``URIs:`` and ``Suites:``."""
    found = []
    for block in re.split(r"\n\s*\n", text):
        fields = {
            name.strip().lower(): value.split()
            for name, colon, value in (
                line.partition(":") for line in block.splitlines() if not line.startswith("#")
            )
            if colon
        }
        wanted = "deb" in fields.get("types", []) and "main" in fields.get("components", [])
        if wanted and fields.get("enabled", ["yes"]) != ["no"]:
            found += [
                (uri, suite) for uri in fields.get("uris", []) for suite in fields.get("suites", [])
            ]
    return found


def _apt_proxy() -> str:
    """The proxy setting of apt for http; empty where there is none or it is "DIRECT"."""
    try:
        said = subprocess.run(
            ["apt-config", "shell", "proxy", "Acquire::http::Proxy"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(r"proxy='(http[^']*)'", said)
    return match[1] if match else ""
