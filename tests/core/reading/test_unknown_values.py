"""A value that is not known here never makes a problem: whatever it turns out to be, what is told
without it must be true."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.unknown import Unknown
from launchers.core.reading.documents import examine, open_size, specs_in
from launchers.core.wrappings.places import Steps, joined
from launchers.core.wrappings.spec import Spec
from tests.places import ROOT
from tests.sagemaker.documents import captured as sagemaker_captured
from tests.sagemaker.documents import plain as sagemaker_plain
from tests.vertex.documents import captured as vertex_captured


def places_in(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    """Every place below the document itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for step, part in items if isinstance(value, (dict, list)) else ():
        yield (*steps, step)
        if isinstance(part, (dict, list)):
            yield from places_in(part, (*steps, step))


def with_unknown(document: Any, steps: Steps) -> Any:
    changed = copy.deepcopy(document)
    part = changed
    for step in steps[:-1]:
        part = part[step]
    part[steps[-1]] = Unknown("?")
    return changed


def errors_of(spec: Spec) -> set[tuple[str, str]]:
    return {
        (problem.rule, problem.path)
        for problem in examine(spec).problems
        if problem.severity == "error"
    }


def corpus() -> list[Path]:
    return sorted(
        path
        for group in ("sagemaker", "vertex")
        for path in (ROOT / "tests" / "corpus" / group).glob("*.json")
        if path.name != "verdicts.json"
    )


def never_more(spec: Spec, most: int = 1000) -> None:
    """With a place unknown, what is wrong is a part of what was wrong.

    Args:
        most: How many places are tried, from all over the document.
    """
    known = errors_of(spec)
    size = examine(spec).started
    told: dict[str, Any] = {}
    places = list(places_in(spec.document))
    for steps in places[:: -(-len(places) // most) or 1]:
        one = Spec(spec.provider, with_unknown(spec.document, steps))
        found = examine(one)
        more = errors_of(one) - known
        if more:
            told[joined("$", *steps)] = sorted(more)
        if not open_size(one) and found.started not in (size, None):
            told[joined("$", *steps)] = f"{found.started} instead of {size}"
    assert told == {}


@pytest.mark.parametrize(
    ("provider", "document"),
    [
        ("sagemaker", sagemaker_captured("v2_tf_mpi_full.json")),
        ("sagemaker", sagemaker_plain()),
        ("vertex", vertex_captured("chief_3workers.json")),
        ("vertex", vertex_captured("a3_flex_start.json")),
    ],
    ids=["the SDK's MPI job", "our request", "four replicas", "flex start"],
)
def test_no_place_of_a_right_document_is_wrong_when_it_is_unknown(provider: str, document: Any):
    never_more(Spec(provider, document))


@pytest.mark.parametrize("path", corpus(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_unknown_adds_no_error_to_a_document_of_the_corpus(path: Path):
    for spec in specs_in([json.loads(path.read_text("utf-8"))], path.name):
        never_more(Spec(spec.provider, spec.document), most=6)
