"""The page in a real browser: on a phone and a desk, in light and dark, and on paper.

One browser looks at every study once and ends; the tests judge what it saw.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from launchers.scaling.report.page import page
from tests.scaling.report.browser import Browser, executable
from tests.scaling.report.studies import STUDIES

QUESTIONS = Path(__file__).with_name("in_page.js").read_text("utf-8")
# CSS px; 640 is a window of 1280 at 200 %.
WIDTHS = (360, 640, 1280)
# A4 in points, and the margin that the page's stylesheet asks for.
PAPER, MARGIN = (595.0, 842.0), 12 / 25.4 * 72
WORD = re.compile(
    r'<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*?)</word>'
)

Box = tuple[float, float, float, float]


@dataclass
class Seen:
    """What the browser saw of one study's page.

    Attributes:
        title: Of the window, at the end.
        elements: Names of all elements.
        text: All of the page's text.
        said: Console and errors.
        requests: Addresses besides the page's own.
        scroll: Width -> how wide the page is there.
        wide: Width -> what reaches over the right edge.
        crowded: Width -> texts of charts that are cut or on each other.
        texts, lines: ``light`` or ``dark`` -> each text, each line of a chart, with its contrast.
        blocks: How many blocks the paper's pages must not cut.
        sheets: A sheet of paper each: its words and where they are, in points.
    """

    title: str
    elements: list[str]
    text: str
    said: list[str]
    requests: list[str]
    scroll: Mapping[int, int]
    wide: Mapping[int, list[str]]
    crowded: Mapping[int, list[str]]
    texts: Mapping[str, list[tuple[str, float]]]
    lines: Mapping[str, list[tuple[str, float]]]
    blocks: int
    sheets: list[list[tuple[str, Box]]]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Seen]:
    program = executable()
    if program is None:
        pytest.skip("needs a browser: apt-get install chromium-headless-shell")
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext: apt-get install poppler-utils")
    folder = tmp_path_factory.mktemp("browser")
    found = {}
    with Browser(program, folder) as browser:
        for name, study in STUDIES.items():
            file = folder / f"{name}.html"
            file.write_text(page(study()), "utf-8")
            found[name] = _looked_at(browser, file)
    return found


def _looked_at(browser: Browser, file: Path) -> Seen:
    def ask(question: str) -> Any:
        return browser.run(f"{QUESTIONS}.{question}()")

    browser.look(1280)
    browser.open(file)
    ask("openAll")
    scroll, wide, crowded = {}, {}, {}
    for width in WIDTHS:
        browser.look(width, scale=2 if width == 640 else 1)
        scroll[width] = browser.run("document.scrollingElement.scrollWidth")
        wide[width], crowded[width] = ask("wide"), ask("crowded")
    texts, lines = {}, {}
    for mode in ("light", "dark"):
        browser.look(1280, dark=mode == "dark")
        texts[mode], lines[mode] = ask("texts"), ask("lines")
    elements = browser.run("[...document.querySelectorAll('*')].map((one) => one.localName)")
    text = browser.run("document.body.innerText")
    blocks = ask("corners")
    sheets = _sheets(browser.pdf(), file.with_suffix(".pdf"))
    return Seen(
        browser.run("document.title"),
        elements,
        text,
        list(browser.said),
        list(browser.requests),
        scroll,
        wide,
        crowded,
        texts,
        lines,
        blocks,
        sheets,
    )


def _sheets(pdf: bytes, file: Path) -> list[list[tuple[str, Box]]]:
    file.write_bytes(pdf)
    words = ["pdftotext", "-bbox", str(file), "-"]
    text = subprocess.run(words, capture_output=True, check=True).stdout.decode()
    return [
        [
            (word, (float(left), float(top), float(right), float(bottom)))
            for left, top, right, bottom, word in WORD.findall(sheet)
        ]
        for sheet in text.split("<page ")[1:]
    ]


pytestmark = [pytest.mark.processes, pytest.mark.parametrize("name", STUDIES)]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_does_not_scroll_sideways(seen, name, width):
    assert seen[name].scroll[width] <= width
    assert seen[name].wide[width] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_no_text_of_a_chart_is_cut_or_on_another(seen, name, width):
    assert seen[name].crowded[width] == []


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_text_has_a_contrast_of_at_least_4_5(seen, name, mode):
    texts = seen[name].texts[mode]
    assert len(texts) > 40
    assert [text for text in texts if text[1] < 4.5] == []


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_line_and_marker_has_a_contrast_of_at_least_3(seen, name, mode):
    lines = seen[name].lines[mode]
    assert len(lines) > 4
    assert [line for line in lines if line[1] < 3] == []


def test_the_dark_page_is_dark(seen, name):
    assert seen[name].texts["light"] != seen[name].texts["dark"]


def test_nothing_is_asked_for_and_nothing_goes_wrong(seen, name):
    assert [one for one in seen[name].requests if not one.startswith("data:")] == []
    assert seen[name].said == []


def test_text_of_the_study_makes_no_element_and_runs_nothing(seen, name):
    assert seen[name].title.startswith("Scaling: ")
    assert not {"script", "img", "iframe"} & set(seen[name].elements)
    if name == "hostile":
        assert "<img src=x onerror=\"document.title='owned'\">" in seen[name].text
        assert "{{ 7*7 }}" in seen[name].text


def test_no_block_is_cut_by_the_edge_of_a_sheet(seen, name):
    corners: dict[str, int] = {}
    for number, sheet in enumerate(seen[name].sheets):
        corners |= {word: number for word, _ in sheet if re.fullmatch(r"(begin|end)\d+", word)}
    blocks = range(seen[name].blocks)
    there = [block for block in blocks if f"begin{block}" in corners]
    assert len(there) > 20
    cut = [block for block in there if corners[f"begin{block}"] != corners.get(f"end{block}")]
    assert cut == []


def test_every_printed_word_lies_inside_the_margins(seen, name):
    outside = [
        (word, box)
        for sheet in seen[name].sheets
        for word, box in sheet
        if box[0] < MARGIN - 1
        or box[1] < MARGIN - 4
        or box[2] > PAPER[0] - MARGIN + 1
        or box[3] > PAPER[1] - MARGIN + 4
    ]
    assert outside == []


def test_what_is_on_the_page_is_on_paper(seen, name):
    printed = "".join(word for sheet in seen[name].sheets for word, _ in sheet)
    printed = re.sub(r"(begin|end)\d+", "", printed)
    assert all(seen[name].sheets)
    for heading in ("Figures", "Sizes", "made", "Accuracy"):
        assert heading in printed
    if name in ("compared", "many"):
        for chart in ("epochs", "seconds", "Speed-up", "Time"):
            assert chart in printed
