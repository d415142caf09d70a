from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from entrypoints.lib.data import layout
from entrypoints.lib.data.layout import BadPicture, DataFile, Manifest, ManifestError, Split

SHA = "0f" * 32


def manifest() -> Manifest:
    file = DataFile("train/part-00000.parquet", 5, 900, SHA, (3, 2))
    return Manifest(
        classes=("bread", "pie"),
        splits={"train": Split(rows=5, bytes=800, counts=(2, 3), files=(file,))},
        made={"seed": 13},
        bad=(BadPicture("pie/7.jpg", "cut short"),),
    )


def test_a_manifest_comes_back_as_it_was_written() -> None:
    text = layout.as_text(manifest())
    assert layout.from_text(text) == manifest()
    assert layout.as_text(layout.from_text(text)) == text


def changed(change: Callable[[Any], None]) -> str:
    about = json.loads(layout.as_text(manifest()))
    change(about)
    return json.dumps(about)


def the_file(about: Any) -> Any:
    return about["splits"]["train"]["files"][0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda about: about.update(version=2), "version 2, expected launch-pictures version 1"),
        (lambda about: about.pop("classes"), "not a manifest"),
        (lambda about: about["splits"]["train"].update(rows=6), "its 6 rows differ"),
        (lambda about: about["splits"]["train"].update(counts=[5]), "1 counts for 2 classes"),
        (lambda about: the_file(about).update(name="../../etc/passwd"), "no name, hash"),
        (lambda about: the_file(about).update(name="/etc/passwd"), "no name, hash"),
        (lambda about: the_file(about).update(row_groups=[3, 3]), "no name, hash"),
        (lambda about: the_file(about).update(sha256="0f"), "no name, hash"),
        (lambda about: the_file(about).update(rows=-1), "-1 where a count was expected"),
        (lambda about: the_file(about).update(rows=True), "True where a count was expected"),
    ],
)
def test_what_is_no_manifest_is_refused_with_the_reason(
    change: Callable[[Any], None], told: str
) -> None:
    with pytest.raises(ManifestError, match=told):
        layout.from_text(changed(change))


@pytest.mark.parametrize("text", ["", "[]", "null", '{"format": 1}', "not json"])
def test_a_text_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(ManifestError, match="not a manifest"):
        layout.from_text(text)
