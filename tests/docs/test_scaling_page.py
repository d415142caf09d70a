"""docs/scaling.md: what makes its pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.places import ROOT

FILES = Path("/usr/share/datasets/fashion-mnist")


@pytest.mark.skipif(not FILES.is_dir(), reason="needs Debian's package dataset-fashion-mnist")
def test_its_program_makes_pictures_in_class_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = pytest.importorskip("PIL.Image")
    page = (ROOT / "docs" / "scaling.md").read_text("utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    assert program.count("range(6000)") == 1
    monkeypatch.chdir(tmp_path)

    exec(compile(program.replace("6000", "12"), "docs/scaling.md", "exec"), {})

    found = sorted(tmp_path.glob("pictures/*/*.png"))
    assert len(found) == 12
    assert image.open(found[0]).size == (32, 32)
    assert {one.parent.name for one in found} <= set("0123456789")
