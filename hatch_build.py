"""Puts what lies beside the package into the wheel, where launchers/core/paths.py looks for it.

An editable installation gets nothing: there the folders of the clone are read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPPED = ("entrypoints", "infra/images", "templates")


class ShippedFolders(BuildHookInterface):  # type: ignore[misc, unused-ignore]
    """Copies the folders of ``SHIPPED`` to ``launchers/_shipped`` of a standard wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the folders to the files of the build; ``version`` is its kind."""
        if version != "standard":
            return
        for name in SHIPPED:
            folder = Path(self.root) / name
            if not folder.is_dir():
                raise FileNotFoundError(f"{folder}: the wheel needs this folder")
            build_data["force_include"][str(folder)] = f"launchers/_shipped/{name}"
