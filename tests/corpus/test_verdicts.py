"""`launch check` says of every document what is true of it."""

from __future__ import annotations

import json

import pytest

from tests.corpus.documents import (
    CORPUS,
    NEEDED,
    OPTIONAL,
    Document,
    because,
    checked,
    documents,
    files,
    said,
)

# Raised with the corpus: no document leaves it unseen.
AT_LEAST = 307


@pytest.mark.parametrize("document", list(documents()), ids=lambda document: document.name)
def test_the_verdict_is_the_true_one(
    document: Document, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, answer = checked(document, monkeypatch, capsys)
    verdict = document.verdict
    wanted = {
        "world_size": verdict["world_size"],
        "errors": sorted(verdict["errors"]),
        "warnings": sorted(verdict["warnings"]),
    }
    problems = json.dumps(answer, indent=1, ensure_ascii=False)
    assert said(answer) == wanted, f"{document.name}: {verdict['why']}\n{problems}"
    assert verdict.get("because", "") in because(answer), problems
    told = [
        (part.get("place"), problem["rule"], problem["path"], problem["found"])
        for part in answer.get("documents", [answer])
        for problem in part["problems"]
    ]
    assert len(set(told)) == len(told), f"told twice: {told}"
    if not {"--strict"} & set(verdict.get("arguments", [])):
        assert code == (2 if verdict["errors"] else 0), problems


def test_the_corpus_is_not_smaller_than_it_was() -> None:
    assert len(list(documents())) >= AT_LEAST


def test_every_document_has_a_verdict_and_every_verdict_a_document() -> None:
    assert files() == {document.name for document in documents()}


def test_every_verdict_says_why_and_where_the_form_comes_from() -> None:
    for document in documents():
        keys = set(document.verdict)
        assert keys >= NEEDED, document.name
        assert keys <= NEEDED | OPTIONAL, document.name
        assert document.verdict["why"], document.name
        assert document.verdict["origin"], document.name


def test_a_table_of_verdicts_names_no_document_twice() -> None:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len(pairs) == len(dict(pairs)), [name for name, _ in pairs]
        return dict(pairs)

    for table in CORPUS.rglob("verdicts.json"):
        json.loads(table.read_text("utf-8"), object_pairs_hook=once)
