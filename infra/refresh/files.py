"""What the refresh scripts share: where a package's data lies, and how a data file is written."""

from __future__ import annotations

import argparse
import gzip
import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

CLONE = Path(__file__).resolve().parent.parent.parent
SAGEMAKER = CLONE / "launchers" / "sagemaker"
VERTEX = CLONE / "launchers" / "vertex"

Document = dict[str, Any]


def refresh_page(file: Path, text: str, module: str) -> int:
    """Write a page that ``infra.refresh.MODULE`` makes; with ``--check`` only compare, and give 1
    where it is not current."""
    if "--check" not in sys.argv[1:]:
        file.write_text(text, encoding="utf-8")
        return 0
    current = file.is_file() and file.read_text(encoding="utf-8") == text
    print(f"{file.name}: up to date" if current else f"python -m infra.refresh.{module}")
    return 0 if current else 1


def version_of(package: str) -> str:
    """The installed version of ``package``, as pip shows it."""
    return importlib.metadata.version(package)


def file_of(package: str, path: str) -> Path:
    """A data file of an installed package, found without importing the package.

    Raises:
        FileNotFoundError: The package is not installed, or has no such file.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"{package}: not installed; pip install {package}")
    file = Path(spec.origin).parent / path
    if not file.is_file():
        raise FileNotFoundError(f"{file}: not in {package} {version_of(package)}")
    return file


def read_json(file: Path) -> Any:
    """The content of a JSON file, compressed or not."""
    if file.suffix == ".gz":
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            return json.load(stream)
    return json.loads(file.read_text(encoding="utf-8"))


def laid_out(document: Mapping[str, Any]) -> str:
    """``document`` as JSON with one line for each entry of each top-level list or object.

    So a table is small, can be read, and a refresh shows as the lines that changed.
    """
    parts = [f" {json.dumps(key)}: {_entries(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def differences(old: Any, new: Any, path: str = "$") -> list[str]:
    """One line for each place where two JSON documents differ: ``$.a.b: 1 is now 2``."""
    if isinstance(old, dict) and isinstance(new, dict):
        lines = []
        for key in [*old, *(key for key in new if key not in old)]:
            if key not in new:
                lines.append(f"{path}.{key}: gone")
            elif key not in old:
                lines.append(f"{path}.{key}: new: {json.dumps(new[key])[:100]}")
            else:
                lines += differences(old[key], new[key], f"{path}.{key}")
        return lines
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            line
            for index, (was, now) in enumerate(zip(old, new, strict=True))
            for line in differences(was, now, f"{path}[{index}]")
        ]
    if old == new:
        return []
    return [f"{path}: {json.dumps(old)[:100]} is now {json.dumps(new)[:100]}"]


def main(
    script: str,
    file: Path,
    make: Callable[[argparse.Namespace, Document], Document],
    arguments: Sequence[tuple[str, dict[str, Any]]] = (),
) -> int:
    """Runs a refresh script: makes the document, then writes it or compares it with the file.

    Args:
        script: The script's module, for the line that says how to refresh.
        file: The data file.
        make: Gives the new document from the parsed arguments and the file's present content
            (an empty object where there is no file).
        arguments: Further options, as name and keywords of ``add_argument``.

    Returns:
        0, or 1 when ``--check`` found a difference in anything but source and date.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {script}")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    for name, keywords in arguments:
        parser.add_argument(name, **keywords)
    options = parser.parse_args()
    old: Document = read_json(file) if file.is_file() else {}
    new = make(options, old)
    changes = differences(_facts(old), _facts(new))
    print("\n".join(changes) if changes else f"{file.name}: up to date")
    if options.check:
        if changes:
            print(f"refresh it with: python -m {script}", file=sys.stderr)
        return 1 if changes else 0
    if changes or not file.is_file():
        file.write_text(laid_out({**new, "date": date.today().isoformat()}), encoding="utf-8")
    return 0


def _facts(document: Document) -> Document:
    """Without what changes at every refresh and says nothing about the subject."""
    return {key: value for key, value in document.items() if key not in ("date", "sources")}


def _entries(value: Any) -> str:
    if isinstance(value, dict) and value:
        lines = [f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(lines) + "\n }"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"  {json.dumps(entry)}" for entry in value) + "\n ]"
    return json.dumps(value)
