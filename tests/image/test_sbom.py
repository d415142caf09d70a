"""The bill of materials that an image writes of itself."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from launchers.core.paths import images_folder

PROGRAM = images_folder() / "sbom" / "sbom.py"
STATUS = """\
Package: libc6
Status: install ok installed
Architecture: amd64
Version: 1:2.36-9+deb12u1~x
Description: GNU C Library
 more of it

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""
DEBIAN = {"ID": "debian", "VERSION_ID": "12"}


@pytest.fixture(scope="module")
def sbom() -> Any:
    spec = importlib.util.spec_from_file_location("sbom", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_debians_packages_are_listed_by_what_dpkg_has_installed(sbom: Any, tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text(STATUS)

    (found,) = sbom.debian_packages(DEBIAN, str(status))

    assert found["purl"] == (
        "pkg:deb/debian/libc6@1%3A2.36-9%2Bdeb12u1~x?arch=amd64&distro=debian-12"
    )
    assert (found["name"], found["version"]) == ("libc6", "1:2.36-9+deb12u1~x")
    assert list(sbom.debian_packages(DEBIAN, str(tmp_path / "none"))) == []


def test_pythons_packages_are_listed_with_their_licences(sbom: Any) -> None:
    found = {one["name"]: one for one in sbom.python_packages()}

    assert found["click"]["purl"] == f"pkg:pypi/click@{found['click']['version']}"
    assert "BSD" in json.dumps(found["click"]["licenses"])
    assert "typing-extensions" in found, "by their normal names"


def test_a_machine_readable_copyright_file_gives_its_licences(sbom: Any, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    text = "Format: x\n\nFiles: *\nLicense: GPL-2+\n text\n\nFiles: a\nLicense: Expat\n"
    (tmp_path / "one" / "copyright").write_text(text)

    assert sbom.debian_licences("one", str(tmp_path)) == [
        {"license": {"name": "Expat"}},
        {"license": {"name": "GPL-2+"}},
    ]
    assert sbom.debian_licences("two", str(tmp_path)) == []


@pytest.mark.processes
def test_the_same_packages_give_the_same_bytes(tmp_path: Path) -> None:
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for file in files:
        subprocess.run([sys.executable, "-I", "-B", str(PROGRAM), str(file), "image"], check=True)

    first, second = (file.read_bytes() for file in files)
    assert first == second


def test_a_bill_keeps_to_the_rules_of_its_format(sbom: Any) -> None:
    # Those of bom-1.5.schema.json that these fields meet.
    bill = sbom.bill("launch-horovod")
    references = [one["bom-ref"] for one in bill["components"]]

    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    assert re.fullmatch(
        r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        bill["serialNumber"],
    )
    assert len(references) == len(set(references)) > 50
    assert bill["dependencies"] == [{"ref": "image", "dependsOn": sorted(references)}]
    for one in bill["components"]:
        assert one["type"] in ("library", "platform", "operating-system")
        assert one["name"]
        licences = one.get("licenses", [])
        assert all({"expression"} == set(each) for each in licences) or all(
            {"name"} == set(each["license"]) for each in licences
        )
        assert len([each for each in licences if "expression" in each]) <= 1


@pytest.mark.pip_network
def test_a_bill_is_valid_by_the_formats_own_schema(sbom: Any) -> None:
    from tests.sagemaker.released import installed

    folder = installed("cyclonedx-python-lib[json-validation]==11.12.0")
    program = (
        "import sys; from cyclonedx.validation.json import JsonStrictValidator as Validator;"
        "from cyclonedx.schema import SchemaVersion;"
        "found = Validator(SchemaVersion.V1_5).validate_str(sys.stdin.read());"
        "sys.exit(str(found) if found else 0)"
    )
    for bill, valid in ((sbom.bill("image"), True), ({**sbom.bill("image"), "version": 0}, False)):
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(bill),
            env={"PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode == 0) is valid, done.stderr
