"""What the corpus holds, and what `launch check` says of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from launchers.cli.main import run
from launchers.cli.show.as_json import problem_as_json
from launchers.core.model.problems import LaunchError

CORPUS = Path(__file__).parent
NEEDED = {"world_size", "errors", "warnings", "why", "origin"}
OPTIONAL = {"arguments", "because"}


@dataclass(frozen=True)
class Document:
    """One document of the corpus, and the verdict that is true of it."""

    path: Path
    verdict: dict[str, Any]

    @property
    def name(self) -> str:
        """Its place in the corpus."""
        return str(self.path.relative_to(CORPUS))


def documents() -> Iterator[Document]:
    """All that have a verdict, in a steady order."""
    for table in sorted(CORPUS.rglob("verdicts.json")):
        for name, verdict in json.loads(table.read_text("utf-8")).items():
            yield Document(table.parent / name, verdict)


def files() -> set[str]:
    """Every file that is no verdict, no Python and no text about the corpus."""
    return {
        str(path.relative_to(CORPUS))
        for path in CORPUS.rglob("*")
        if path.is_file() and path.suffix in (".json", ".yaml", ".yml", ".jsonl")
        if path.name != "verdicts.json"
    }


def checked(
    document: Document, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, dict[str, Any]]:
    """The exit code and the answer of `launch check --json`, in this process."""
    monkeypatch.chdir(document.path.parent)
    capsys.readouterr()
    try:
        code = run(["check", document.path.name, "--json", *document.verdict.get("arguments", [])])
    except LaunchError as error:
        problems = [problem_as_json(problem) for problem in error.problems]
        return error.exit_code, {"world_size": None, "problems": problems}
    return code, dict(json.loads(capsys.readouterr().out))


def said(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer in a verdict's words."""
    parts = answer.get("documents", [answer])
    problems = [problem for part in parts for problem in part["problems"]]
    sizes = [part["world_size"] for part in parts]
    return {
        "world_size": sizes[0] if len(sizes) == 1 else sizes,
        **{
            f"{severity}s": sorted({one["rule"] for one in problems if one["severity"] == severity})
            for severity in ("error", "warning")
        },
    }


def because(answer: dict[str, Any]) -> str:
    """Why the world sizes are what they are."""
    parts = answer.get("documents", [answer])
    return "; ".join(str(part.get("because") or "") for part in parts)
