"""The files of a report, and the page's text where no browser is needed."""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from launchers.scaling.report import files
from launchers.scaling.report.page import page
from tests.scaling.report.studies import HOSTILE, STUDIES, compared, study

# Without an end tag.
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Outline(HTMLParser):
    """Elements and their attributes; fails where one is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_asks_for_nothing_and_runs_nothing(name):
    elements = Outline(page(STUDIES[name]())).elements
    assert not {"script", "img", "iframe", "object", "form", "base"} & {tag for tag, _ in elements}
    for tag, attributes in elements:
        assert not [one for one in attributes if one.startswith("on") or one == "style"], tag
        assert attributes.get("href", "data:,") == "data:,"
        assert "src" not in attributes


def test_the_policy_allows_the_pages_one_stylesheet_by_its_hash_and_nothing_else():
    text = page(compared())
    style = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert len(style) == 1
    policy = re.findall('Content-Security-Policy" content="([^"]*)"', text)
    assert policy == [
        (
            f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        )
    ]
    assert "@import" not in style[0]
    assert "url(" not in style[0]


def test_ids_are_unique_and_every_reference_has_its_element():
    elements = Outline(page(compared())).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in elements:
        for one in (attributes.get("aria-labelledby") or "").split():
            assert one in ids


def test_every_chart_has_a_text_alternative_and_a_table():
    text = page(compared())
    for chart in re.findall("<figure.*?</figure>", text, re.DOTALL):
        assert chart.count('role="img"') == 2
        assert re.search("<desc id=[^>]*>[^<]*lr-scaling none", chart)
        assert "<table>" in chart


def test_the_page_says_the_command_the_machine_the_date_and_the_load():
    text = page(compared())
    for said in (
        "launch scaling local train_image_classifier.py",
        "AMD EPYC 7R13, 2 cores",
        "23 November 2026, 14:05 UTC",
        "0.1 to 1.3 of 2 cores busy with other work as runs began",
    ):
        assert said in text


def test_what_no_run_said_is_named_instead_of_drawn():
    text = page(STUDIES["silent"]())
    assert (
        "Not said by the runs: seconds an epoch, training loss, training accuracy, test loss, "
        "test accuracy." in text
    )
    assert "Test accuracy over epochs" not in text
    assert 'id="speed-up"' in text


def test_a_study_without_a_run_has_a_page():
    text = page(study())
    assert "nothing to compare" in text
    assert "<figure" not in text


def test_a_picture_of_the_charts_lies_beside_the_page(tmp_path: Path):
    pytest.importorskip("matplotlib", reason="needs matplotlib, of the extra scaling")
    written = files.write(compared(), tmp_path)
    assert [file.name for file in written] == ["report.html", "report.png"]
    head = written[1].read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:]) >= (1600, 1000)


# Not of what earlier tests have left, which is collected now.
@pytest.mark.filterwarnings("error", "ignore::ResourceWarning")
def test_hostile_names_are_drawn_as_they_are(tmp_path: Path):
    pytest.importorskip("matplotlib", reason="needs matplotlib, of the extra scaling")
    assert len(files.write(STUDIES["hostile"](), tmp_path)) == 2


def test_without_matplotlib_one_line_says_so_and_the_page_is_there(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    assert [file.name for file in files.write(compared(), tmp_path)] == ["report.html"]
    said = files.missing()
    assert said is not None
    assert said.startswith("report.png is not written: matplotlib is not installed; ")
    assert said.endswith("'launch-training[scaling]'")
    assert "\n" not in said


def test_the_same_study_gives_the_same_page():
    assert page(compared()) == page(compared())


def test_the_hostile_study_is_hostile_in_every_text_it_has():
    """So that what the tests of the browser see is all of it."""
    assert page(STUDIES["hostile"]()).count("&lt;img src=x onerror") > 20
    assert "<img" in HOSTILE
