from __future__ import annotations

import zipimport
from pathlib import Path

from lib import dask_code


def test_the_same_files_are_the_same_code_and_others_have_another_name(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "one.py").write_text("VALUE = 1\n")
    first = dask_code.packed(tmp_path)
    assert dask_code.packed(tmp_path) == first
    (tmp_path / "room" / "one.py").write_text("VALUE = 2\n")
    assert dask_code.packed(tmp_path).name != first.name


def test_the_package_can_be_imported_from_the_zip(tmp_path: Path) -> None:
    code = dask_code.packed()
    path = tmp_path / "code.zip"
    path.write_bytes(code.content)
    importer = zipimport.zipimporter(str(path))
    assert importer.find_spec(code.name) is not None
    assert "data/dask_tasks.py" in "\n".join(zipimport._zip_directory_cache[str(path)])  # type: ignore[attr-defined]
