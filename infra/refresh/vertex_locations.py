"""Makes launchers/vertex/tables/locations.json: where Vertex AI is, by the client's own list.

The client refuses any other location before it asks the service, and a new one comes with a new
client.
"""

from __future__ import annotations

import argparse
import ast

from infra.refresh.files import VERTEX, Document, file_of, main, version_of

FILE = VERTEX / "tables" / "locations.json"
CLIENT = "google.cloud.aiplatform"
CONSTANTS = "constants/base.py"
LIST = "SUPPORTED_REGIONS"
# Models answer there; no training runs.
_NOT_A_PLACE = "global"


def make(options: argparse.Namespace, old: Document) -> Document:
    """Every location of the installed client."""
    package = "google-cloud-aiplatform"
    source = f"{package} {version_of(package)}, {CLIENT}.constants.base.{LIST}"
    return {
        "about": "The locations of Vertex AI. Generated; do not edit.",
        "sources": {"locations": source},
        "date": "",
        "locations": locations(),
    }


def locations() -> list[str]:
    """The list as it stands in the client's source: importing it takes seconds.

    Raises:
        SystemExit: The source has no such list any more.
    """
    tree = ast.parse(file_of(CLIENT, CONSTANTS).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == LIST for target in node.targets
        ):
            found = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
            return sorted(str(name) for name in found if name != _NOT_A_PLACE)
    raise SystemExit(f"{CONSTANTS}: no {LIST}")


if __name__ == "__main__":
    raise SystemExit(main("infra.refresh.vertex_locations", FILE, make))
