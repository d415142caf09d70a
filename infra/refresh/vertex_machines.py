"""Makes launchers/vertex/tables/machines.json: Vertex AI's training machines and accelerators.

Names of accelerators are those of the installed google-cloud-aiplatform's AcceleratorType; what
each is, and every machine, stands in vertex_hardware.json, since Google publishes its table in
the documentation alone. A type that the client knows and that file lacks stops the refresh.
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path
from typing import Any

from infra.refresh.files import VERTEX, Document, file_of, main, read_json, version_of

FILE = VERTEX / "tables" / "machines.json"
HARDWARE = Path(__file__).with_name("vertex_hardware.json")
CLIENT = "google.cloud.aiplatform_v1"
ENUMERATION = "types/accelerator_type.py"
_UNSPECIFIED = "ACCELERATOR_TYPE_UNSPECIFIED"


def make(options: argparse.Namespace, old: Document) -> Document:
    """Every accelerator of the enumeration, every machine of the documentation.

    Raises:
        SystemExit: An accelerator that vertex_hardware.json lacks, or that the client lacks.
    """
    by_hand = read_json(HARDWARE)
    names = accelerator_names()
    _require(not (new := [name for name in names if name not in by_hand["accelerators"]]), new)
    machines = {**_families(by_hand["families"]), **by_hand["machines"]}
    for group in by_hand["attached"]:
        for name in group["machines"]:
            machines[name]["attached"] = group["counts"]
    used = {row["accelerator"] for row in machines.values() if "accelerator" in row}
    used |= {name for row in machines.values() for name in row.get("attached", {})}
    _require(not (lost := sorted(used - set(names))), lost)
    return {
        "about": "Vertex AI's training machines and accelerators. Generated; do not edit.",
        "sources": {
            "accelerators": f"google-cloud-aiplatform {version_of('google-cloud-aiplatform')}, "
            "AcceleratorType",
            **by_hand["sources"],
        },
        "date": "",
        "accelerators": {name: by_hand["accelerators"][name] for name in names},
        "reduction_server": by_hand["reduction_server"],
        "defaults": by_hand["defaults"],
        "machines": machines,
    }


def accelerator_names() -> list[str]:
    """The names of AcceleratorType, read from the client's source: importing it takes seconds."""
    tree = ast.parse(file_of(CLIENT, ENUMERATION).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "AcceleratorType":
            found = [
                target.id
                for part in node.body
                if isinstance(part, ast.Assign)
                for target in part.targets
                if isinstance(target, ast.Name)
            ]
            return [name for name in found if name != _UNSPECIFIED]
    raise SystemExit(f"{ENUMERATION}: no class AcceleratorType")


def _families(families: dict[str, Any]) -> Document:
    """``n1-standard-4`` and its like: a family's name, its sizes, its memory for each vCPU."""
    return {
        f"{family}-{size}": {"vcpus": size, "memory_gib": _short(size * row["gib_a_vcpu"])}
        for family, row in families.items()
        for size in row["sizes"]
    }


def _short(gib: float) -> float:
    gib = round(gib, 2)
    return int(gib) if gib == int(gib) else gib


def _require(holds: bool, names: list[str]) -> None:
    if not holds:
        raise SystemExit(f"{', '.join(names)}: not in both AcceleratorType and {HARDWARE}")


if __name__ == "__main__":
    raise SystemExit(main("infra.refresh.vertex_machines", FILE, make))
