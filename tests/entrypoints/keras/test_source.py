"""What is read of a source's Keras, and what is decided by it."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch_runtime.keras import source
from launch_runtime.keras.decision import Decision, Installed, decide
from launch_runtime.keras.reader import Place
from launch_runtime.keras.source import Use

from tests.entrypoints.rank.keras_packages import model_file

STACK = Installed("2.18.1", "3.15.1", "2.18.0")


def scan(folder: Path, text: str, **others: str) -> Use:
    for name, content in {"train": text, **others}.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return source.scan(str(folder), "train.py")


NEW = {
    "import keras\nkeras.ops.add(1, 2)\n": "train.py:2 uses keras.ops",
    "import keras.ops as o\n": "train.py:1 imports keras.ops",
    "from keras import (\n    layers,\n    random,\n)\n": "train.py:1 imports keras.random",
    "import keras as k\nx = 1\nk.random.normal((1,))\n": "train.py:3 uses keras.random",
    "import tensorflow as tf\nclass A(tf.keras.utils.PyDataset): ...\n": (
        "train.py:2 uses keras.utils.PyDataset"
    ),
    "from tensorflow import keras\nkeras.distribution\n": "train.py:2 uses keras.distribution",
    "from tensorflow.keras.layers import RMSNormalization\n": (
        "train.py:1 imports keras.layers.RMSNormalization"
    ),
    "from keras import layers\nlayers.RMSNormalization()\n": (
        "train.py:2 uses keras.layers.RMSNormalization"
    ),
    "import keras_hub\n": "train.py:1 imports keras_hub",
    "import tensorflow as tf\nkeras = tf.keras\nkeras.ops.add(1, 2)\n": (
        "train.py:3 uses keras.ops"
    ),
    "import tensorflow as tf\nK: object = tf.keras\nK.random.normal((1,))\n": (
        "train.py:3 uses keras.random"
    ),
    "import os\nos.environ.setdefault('KERAS_BACKEND', 'torch')\nimport keras\n": (
        "train.py:2 sets KERAS_BACKEND=torch"
    ),
}


@pytest.mark.parametrize(("text", "found"), NEW.items(), ids=NEW.values())
def test_what_only_keras_3_has_is_found(tmp_path: Path, text: str, found: str):
    assert str(scan(tmp_path, text).new) == found


@pytest.mark.parametrize(
    "text",
    [
        "import keras\nfrom keras import layers, backend as K\nK.get_value(1)\n",
        "import numpy as np\nimport keras\nnp.random.normal()\nops = 1\n",
        "import tensorflow as tf\ntf.random.normal((1,))\ntf.keras.layers.Layer()\n",
        "import keras\n# keras.ops.add\nhelp = 'keras.ops'\n",
        "try:\n    from keras import ops\nexcept ImportError:\n    ops = None\n",
        "import keras\nif keras.__version__ >= '3':\n    keras.ops.add(1, 1)\n",
        "import keras\nx = keras.ops if hasattr(keras, 'ops') else None\n",
        "import os\nos.environ['KERAS_BACKEND'] = 'tensorflow'\nimport keras\n",
        "from mine import keras\nkeras.ops\n",
        "import keras\nkeras.saving.load_model('absent.keras')\n",
        "import keras.ops as\n",
    ],
)
def test_what_runs_on_keras_2_too_is_no_need_for_keras_3(tmp_path: Path, text: str):
    assert scan(tmp_path, text).new is None


def test_a_model_that_keras_3_wrote_is_a_need_for_keras_3(tmp_path: Path):
    model_file(tmp_path / "new.keras", "3.15.1")
    model_file(tmp_path / "old.keras", "2.15.0")
    text = "from keras.models import load_model\nload_model('old.keras')\n"
    assert scan(tmp_path, text).new is None
    found = scan(tmp_path, text + "load_model('new.keras')\n").new
    assert str(found) == "train.py:3 loads new.keras, written by Keras 3.15.1"


def test_only_files_that_the_script_reaches_count(tmp_path: Path):
    use = scan(
        tmp_path,
        "from package.models import build\nfrom package import (\n    data,  # more\n    loop)\n",
        package____init__="",
        package__models="from . import blocks\nfrom .deep.er import x\n",
        package__blocks="import tensorflow as tf\ntf.keras.layers.Dense\n",
        package__deep__er="x = 1\n",
        package__loop="import horovod.tensorflow.keras as hvd\nhvd.DistributedOptimizer(1)\n",
        unreached="import keras\nkeras.ops\n",
    )
    assert (use.keras.file, use.keras.line) in {
        ("package/loop.py", 1),
        ("package/blocks.py", 2),
    }
    assert (use.horovod.file, use.new) == ("package/loop.py", None)
    assert str(use.wrapper) == "package/loop.py:2 DistributedOptimizer"


ASSIGNED = {
    "keras = tf.keras": "tf.keras",
    "K=tf.keras  # short": "tf.keras",
    "K = tensorflow.keras": "tensorflow.keras",
    "K = tf.compat.v1.keras; K.Sequential()": "tf.compat.v1.keras",
    "def build(keras=tf.keras): ...": "tf.keras",
}


@pytest.mark.parametrize(("line", "what"), ASSIGNED.items(), ids=ASSIGNED)
def test_keras_by_a_name_of_the_scripts_own_is_a_use_of_keras(tmp_path: Path, line: str, what: str):
    assert scan(tmp_path, f"import tensorflow as tf\n{line}\n").keras == ("train.py", 2, what)


@pytest.mark.parametrize(
    "line", ["# keras = tf.keras", "x = 1  # = tf.keras", "'As tf.keras.'", "k = tf.keras_x"]
)
def test_words_about_keras_are_no_use_of_it(tmp_path: Path, line: str):
    assert scan(tmp_path, f"import tensorflow as tf\n{line}\n").keras is None


def test_files_that_import_each_other_are_read_once(tmp_path: Path):
    use = scan(tmp_path, "import a\n", a="import b\n", b="import a, train\nimport keras\n")
    assert str(use.keras).startswith("b.py:2")


def use_of(**given: str) -> Use:
    return Use(**{name: Place("train.py", 3, what) for name, what in given.items()})


BOTH = {"keras": "import keras", "horovod": "import horovod"}


@pytest.mark.parametrize(
    ("asked", "use", "installed", "environment", "keras", "missing"),
    [
        ("auto", use_of(**BOTH), STACK, {}, "2", ""),
        ("auto", use_of(**BOTH, new="uses keras.ops"), STACK, {}, "3", ""),
        ("auto", use_of(**BOTH, legacy="0"), STACK, {}, "3", ""),
        ("auto", use_of(**BOTH, legacy="1"), STACK, {}, "2", ""),
        ("auto", use_of(keras="import keras"), STACK, {}, "", ""),
        ("auto", use_of(horovod="import horovod"), STACK, {}, "", ""),
        ("auto", use_of(**BOTH), STACK, {"TF_USE_LEGACY_KERAS": "0"}, "3", ""),
        ("auto", use_of(keras="import keras"), STACK, {"TF_USE_LEGACY_KERAS": "1"}, "2", ""),
        ("auto", use_of(**BOTH), STACK, {"KERAS_BACKEND": "jax"}, "3", ""),
        ("auto", use_of(**BOTH), STACK, {"KERAS_BACKEND": "tensorflow"}, "2", ""),
        ("2", use_of(**BOTH, new="uses keras.ops"), STACK, {}, "2", ""),
        ("3", use_of(**BOTH), STACK, {"TF_USE_LEGACY_KERAS": "1"}, "3", ""),
        ("auto", use_of(**BOTH), STACK._replace(tf_keras=""), {}, "3", "tf-keras~=2.18.0"),
        ("2", use_of(), STACK._replace(tf_keras=""), {}, "2", "tf-keras~=2.18.0"),
        ("3", use_of(**BOTH), STACK._replace(tf_keras=""), {}, "3", ""),
        ("auto", use_of(**BOTH), STACK._replace(tensorflow="2.15.1"), {}, "", ""),
        ("2", use_of(**BOTH), STACK._replace(tensorflow="2.8.4"), {}, "", ""),
        ("2", use_of(**BOTH), STACK._replace(tensorflow=""), {}, "", ""),
        ("auto", use_of(**BOTH), Installed(), {}, "2", ""),
    ],
)
def test_one_keras_is_decided(
    asked: str,
    use: Use,
    installed: Installed,
    environment: dict[str, str],
    keras: str,
    missing: str,
):
    decision = decide(asked, use, installed, environment)
    assert (decision.keras, decision.missing) == (keras, missing)
    assert bool(decision.why) or decision == Decision("")
