"""Which files a script reaches, and which dotted names their code uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchers.core.analysis.facts import SourceFacts, facts_in
from launchers.core.source.bundle import scan
from launchers.core.source.texts import SourceTexts
from tests.core.source.trees import plant

USES = [
    ("import keras\nkeras.ops.relu(1)\n", "keras.ops", "keras.ops.relu"),
    ("from keras import ops\n", "keras.ops", "keras.ops"),
    ("from keras import ops as o\no.relu(1)\n", "keras.ops.relu", "keras.ops.relu"),
    ("import keras.ops as o\n", "keras.ops", "keras.ops"),
    ("from keras.ops import relu\n", "keras.ops", "keras.ops.relu"),
    ("import keras as K\nops = K.ops\nops.relu(1)\n", "keras.ops.relu", "keras.ops.relu"),
    ("import tensorflow as tf\ntf.keras.Model()\n", "tensorflow.keras", "tensorflow.keras.Model"),
    ("# keras.ops\n'keras.ops'\nimport keras\n", "keras.ops", ""),
    ("import kerasx\nkerasx.ops\n", "keras.ops", ""),
    ("import keras\nx = 'ops'\n", "keras.ops", ""),
    ("def f(keras):\n    return keras.ops\n", "keras.ops", ""),
]


def facts(**files: str) -> SourceFacts:
    contents = {f"{name}.py": text.encode() for name, text in files.items()}
    found = facts_in(SourceTexts(contents=contents), "train.py")
    assert found is not None
    return found


@pytest.mark.parametrize(("text", "wanted", "name"), USES)
def test_a_name_is_found_by_whatever_it_is_called(text: str, wanted: str, name: str):
    use = facts(train=text).uses(wanted)
    assert (use.name if use else "") == name


def test_a_use_is_found_in_a_reached_file_alone_with_its_place():
    found = facts(train="import a\n", a="\nfrom keras import ops\n", b="import torch\n")
    assert str(found.uses("keras.ops")) == "a.py:2 uses keras.ops"
    assert found.uses("torch") is None
    assert found.files == ("train.py", "a.py")


def test_a_script_that_is_not_there_has_no_facts():
    assert facts_in(SourceTexts(contents={}), "train.py") is None


def test_the_scan_reads_each_python_file_once_for_everybody(
    tmp_path: Path, entrypoints: Path, monkeypatch: pytest.MonkeyPatch
):
    plant(tmp_path / "s", {"train.py": "import a\n", "a.py": "import keras\n", "b.txt": "x"})
    texts = scan(tmp_path / "s", entrypoints).texts
    monkeypatch.setattr(Path, "open", None)
    assert texts.read("a.py") == b"import keras\n"
    found = facts_in(texts, "train.py")
    assert found is not None
    assert found.uses("keras")
    assert facts_in(texts, "train.py") is found
