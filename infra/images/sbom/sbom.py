"""What an image holds, as a CycloneDX 1.5 bill of materials (https://cyclonedx.org/docs/1.5/json/).

`python3 sbom.py FILE NAME` in an image lists the distributions that its Python sees and Debian's
installed packages, each with version, licence and package URL. The same packages give the same
bytes: no time, no random number. Standard library, Python 3.8.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import uuid
from importlib import metadata
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

DPKG_STATUS = "/var/lib/dpkg/status"
OS_RELEASE = "/etc/os-release"
DOCUMENTATION = "/usr/share/doc"
# Longer than any licence's name: some packages have the whole text in that field.
LONGEST_NAME = 100


def main() -> None:
    """Write the bill of this machine to the file that argv names."""
    path, name = sys.argv[1:]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(bill(name), file, indent=1, sort_keys=True)
        file.write("\n")


def bill(name: str) -> dict[str, Any]:
    """All of it; ``name`` is the image's."""
    system = os_release()
    found = {
        component["bom-ref"]: component
        for component in (*python_packages(), *debian_packages(system), *operating_system(system))
    }
    components = [found[reference] for reference in sorted(found)]
    image = {"type": "container", "bom-ref": "image", "name": name}
    content = json.dumps([image, components], sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_OID, content).urn,
        "version": 1,
        "metadata": {
            "component": image,
            "tools": {"components": [{"type": "application", "name": "launch image build"}]},
        },
        "components": components,
        "dependencies": [{"ref": "image", "dependsOn": sorted(found)}],
    }


def python_packages() -> Iterator[dict[str, Any]]:
    """The distributions that this Python sees; of two of one name the one that it imports."""
    seen = set()
    for one in metadata.distributions():
        about = one.metadata
        name = re.sub(r"[-_.]+", "-", about["Name"] or "").lower()
        if name and name not in seen:
            seen.add(name)
            yield component(f"pkg:pypi/{name}", name, one.version, python_licences(about))


def python_licences(about: Any) -> list[dict[str, Any]]:
    """From a distribution's metadata: an SPDX expression (PEP 639), else names."""
    if about["License-Expression"]:
        return [{"expression": about["License-Expression"]}]
    words = [
        value.rpartition(" :: ")[2]
        for value in about.get_all("Classifier") or ()
        if value.startswith("License :: ") and not value.endswith("OSI Approved")
    ]
    short = (about["License"] or "").strip()
    if not words and short and "\n" not in short and len(short) <= LONGEST_NAME:
        words = [short]
    return named(words)


def debian_packages(system: dict[str, str], status: str = DPKG_STATUS) -> Iterator[dict[str, Any]]:
    """What dpkg has installed; nothing where the image has no dpkg."""
    if not os.path.exists(status):
        return
    with open(status, encoding="utf-8", errors="replace") as file:
        paragraphs = file.read().split("\n\n")
    for paragraph in paragraphs:
        fields = dict(re.findall(r"^(\S+): *(.*)$", paragraph, re.MULTILINE))
        if fields.get("Status", "").split()[-1:] != ["installed"]:
            continue
        name, version = fields["Package"], fields["Version"]
        qualifiers = f"arch={fields['Architecture']}"
        if system.get("VERSION_ID"):
            qualifiers += f"&distro={system['ID']}-{system['VERSION_ID']}"
        url = f"pkg:deb/{system.get('ID', 'debian')}/{quote(name, safe='')}"
        yield component(url, name, version, debian_licences(name), qualifiers)


def debian_licences(package: str, folder: str = DOCUMENTATION) -> list[dict[str, Any]]:
    """The short names of a package's copyright file, where that one is machine-readable."""
    try:
        with open(os.path.join(folder, package, "copyright"), encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return []
    if not text.startswith("Format:"):
        return []
    words = re.findall(r"^License: *(\S[^\n]*)$", text, re.MULTILINE)
    return named([word.strip() for word in words if len(word) <= LONGEST_NAME])


def operating_system(system: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The distribution of Linux, and the Python that was asked."""
    if system.get("ID"):
        yield {
            "type": "operating-system",
            "bom-ref": "operating-system",
            "name": system["ID"],
            "version": system.get("VERSION_ID", ""),
        }
    yield {
        "type": "platform",
        "bom-ref": "python",
        "name": platform.python_implementation(),
        "version": platform.python_version(),
    }


def os_release(path: str = OS_RELEASE) -> dict[str, str]:
    """Its fields; empty where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            lines: list[tuple[str, str]] = re.findall(r"^(\w+)=\"?(.*?)\"?$", file.read(), re.M)
    except OSError:
        return {}
    return dict(lines)


def component(
    url: str, name: str, version: str, licences: list[dict[str, Any]], qualifiers: str = ""
) -> dict[str, Any]:
    """One package, with its package URL (https://github.com/package-url/purl-spec)."""
    url = f"{url}@{quote(version, safe='~')}" + (f"?{qualifiers}" if qualifiers else "")
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": url,
        "name": name,
        "version": version,
        "purl": url,
    }
    if licences:
        found["licenses"] = licences
    return found


def named(words: list[str]) -> list[dict[str, Any]]:
    """Licences by their names, each once."""
    return [{"license": {"name": word}} for word in sorted(set(words))]


if __name__ == "__main__":
    main()
