"""A program's source shows whether it starts ranks by itself."""

from __future__ import annotations

import pytest

from launchers.core.analysis.own_start import own_start
from launchers.core.source.texts import SourceTexts

SIGNS = {
    "import torch.multiprocessing as mp": "multiprocessing",
    "import os\nos.system('x')": "os.system",
    "dist.init_process_group('gloo')": "init_process_group",
    "import subprocess": "subprocess",
    "exec('x')": "exec",
    "hosts = os.environ['HOSTS_OF_CLOUD']": "HOSTS_OF_CLOUD",
    "from lightning import Trainer": "lightning",
    "import horovod.run": "horovod.run",
    "call(['horovodrun', '-np', '4'])": "horovodrun",
}


def texts(**files: str) -> SourceTexts:
    named = {name.replace("_py", ".py"): text.encode() for name, text in files.items()}
    return SourceTexts(contents=named)


@pytest.mark.parametrize("text", SIGNS)
def test_a_sign_is_told_with_its_place(text: str):
    line = text.count("\n") + 2
    found = own_start(texts(lib_py="x = 1", train_py=f"import os\n{text}"), ["HOSTS_OF_CLOUD"])
    assert found == f"train.py:{line} uses {SIGNS[text]}"


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nmodel.eval()",
        "# subprocess",
        "executor = 1",
        "array = [1]",
        "import horovod.tensorflow as hvd\nhvd.init()",
    ],
)
def test_other_code_and_comments_are_none(text: str):
    assert own_start(texts(train_py=text)) == ""


def test_a_shell_script_counts_and_other_files_do_not():
    files = {"run.sh": b"torchrun x", "notes.md": b"subprocess"}
    assert own_start(SourceTexts(contents=files)) == "run.sh:1 uses torchrun"
    del files["run.sh"]
    assert own_start(SourceTexts(contents=files)) == ""
