from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.loader_memory import read_in_a_process, write_linked

pytestmark = pytest.mark.processes


def test_the_memory_of_a_reader_does_not_grow_with_its_data(tmp_path: Path) -> None:
    peaks = []
    for copies in (2, 80):  # 4 and 150 MB, where 4 MiB may be read ahead
        folder = tmp_path / str(copies)
        write_linked(folder, copies, rows=128, group=32)
        found = read_in_a_process(folder, ahead_mebibytes=4, tensorflow=False)
        assert found["rows"] == copies * 128
        peaks.append(found["mebibytes"])
    assert peaks[1] < 1.3 * peaks[0], peaks  # all of it would be twice as much
