"""Which Keras a script finds in a rank. TensorFlow and Keras are stand-ins here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.entrypoints.rank import keras_packages
from tests.entrypoints.rank.guard_runs import ONE_HOST, Ended, run_guard
from tests.entrypoints.simulated import write_script

pytestmark = pytest.mark.processes

STACK = {"tensorflow": "2.18.1", "keras": "3.15.1", "tf_keras": "2.18.0"}
SAID = "launch: keras is tf_keras 2.18 for this script and Horovod"
# No site-packages: the real ones would fill in for a stand-in that a test leaves out.
ALONE = ("-S",)


def run(
    tmp_path: Path,
    text: str,
    versions: dict[str, str] = STACK,
    options: tuple[str, ...] = ALONE,
    **environment: str,
) -> Ended:
    paths = keras_packages.install(tmp_path / "packages", **versions)
    return run_guard(tmp_path, text, options=options, **ONE_HOST, **paths, **environment)


def keras_of(ended: Ended) -> str:
    assert ended.code == 0, ended.stdout + ended.stderr
    return ended.printed[-1]


BOTH = "import horovod.anyframework as hvd\nimport keras\nprint(keras.__version__)\n"


def test_a_script_with_horovod_and_keras_finds_tf_keras_by_the_name_of_keras(tmp_path: Path):
    ended = run(
        tmp_path,
        """
import os, sys
early = [name for name in ("keras", "tf_keras", "tensorflow") if name in sys.modules]
print("imported before:", early, "legacy:", os.environ["TF_USE_LEGACY_KERAS"])
import importlib.metadata, importlib.util, pickle, subprocess
import horovod.anyframework
print("found:", importlib.util.find_spec("keras").origin.endswith("tf_keras/__init__.py"),
      "tf_keras" in sys.modules)
import keras, keras.layers, keras.src.core
from keras import backend as K
from keras.layers import Dense
import tf_keras
print("one module:", keras is tf_keras, keras.layers is tf_keras.layers, K.get_value(1))
print("one class:", Dense is tf_keras.src.core.Dense is keras.src.core.Dense)
print("spec:", keras.__spec__.name, keras.layers.__spec__.name, keras.__name__)
print("pickled:", pickle.loads(pickle.dumps(Dense)) is Dense, Dense.__module__)
print("packages:", importlib.metadata.version("keras"), keras.__version__)
print("absent:", hasattr(keras, "ops"), hasattr(keras.utils, "PyDataset"))
""",
    )
    assert ended.code == 0, ended.stderr
    assert ended.ours[0] == SAID
    assert ended.printed == [
        "imported before: [] legacy: 1",
        "found: True False",
        "one module: True True 1",
        "one class: True",
        "spec: tf_keras tf_keras.layers tf_keras",
        "pickled: True tf_keras.src.core",
        "packages: 3.15.1 2.18.0",
        "absent: False False",
    ]


def test_processes_that_the_script_starts_find_the_same_keras(tmp_path: Path):
    ended = run(
        tmp_path,
        """
import multiprocessing, os, subprocess, sys
import horovod.anyframework
def ask(where):
    import keras
    print(where, keras.__version__, flush=True)
if __name__ == "__main__":
    ask("here")
    process = multiprocessing.get_context("spawn").Process(target=ask, args=("spawned",))
    process.start(); process.join()
    subprocess.run([sys.executable, "-c", "from keras import backend; import keras; "
                    "print('started', keras.__version__)"], check=True)
""",
        options=(),  # children inherit -S, and it is site that finds the hook
    )
    assert ended.code == 0, ended.stderr
    assert ended.printed == ["here 2.18.0", "spawned 2.18.0", "started 2.18.0"]


def test_what_only_keras_3_has_is_an_error_that_names_the_flag(tmp_path: Path):
    ways = [
        "from keras import ops",
        "import keras.ops",
        "keras.ops",
        "from keras.utils import PyDataset",
        "keras.utils.PyDataset",
        "from keras.layers import RMSNormalization",
    ]
    ended = run(
        tmp_path,
        f"""
import horovod.anyframework
import keras
for way in {ways!r}:
    try:
        exec(way)
    except (ImportError, AttributeError) as error:
        print(type(error).__name__, str(error).rpartition(": ")[2])
try:
    import keras.nothing
except ModuleNotFoundError as error:
    print(error)
""",
    )
    advice = "is of Keras 3, and keras is tf_keras (Keras 2) in this job; --keras 3 keeps it"
    assert ended.printed == [
        f"ImportError keras.ops {advice}",
        f"ImportError keras.ops {advice}",
        f"AttributeError keras.ops {advice}",
        f"ImportError keras.utils.PyDataset {advice}",
        f"AttributeError keras.utils.PyDataset {advice}",
        f"ImportError keras.layers.RMSNormalization {advice}",
        "No module named 'keras.nothing' (keras is tf_keras in this job)",
    ]


LEFT_ALONE = {
    "no Horovod": "import keras\nprint(keras.__version__)\n",
    "Keras in a comment only": "import horovod.anyframework\n# import keras\nkeras = __import__("
    "'ker' + 'as')\nprint(keras.__version__)\n",
    "keras.ops": BOTH + "keras.ops\nprint(keras.__version__)\n",
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'jax'\n" + BOTH,
    "its own choice": "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '0'\n" + BOTH,
}


@pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_a_script_that_does_not_need_keras_2_keeps_keras_3(tmp_path: Path, text: str):
    ended = run(tmp_path, text)
    assert keras_of(ended) == "3.15.1"
    assert SAID not in ended.ours


def test_a_script_that_runs_on_both_gets_keras_2(tmp_path: Path):
    guarded = "try:\n    from keras import ops\nexcept ImportError:\n    ops = None\n"
    assert keras_of(run(tmp_path, BOTH + guarded + "print(keras.__version__)")) == "2.18.0"


def test_the_word_of_the_plan_stands_above_the_source(tmp_path: Path):
    alone = "import keras\nprint(keras.__version__)\n"
    assert keras_of(run(tmp_path / "2", alone, LAUNCH_KERAS="2")) == "2.18.0"
    ended = run(tmp_path / "3", BOTH, LAUNCH_KERAS="3", TF_USE_LEGACY_KERAS="1")
    assert keras_of(ended) == "3.15.1"
    assert keras_of(run(tmp_path / "user", BOTH, TF_USE_LEGACY_KERAS="0")) == "3.15.1"


def test_a_tensorflow_with_keras_2_is_left_as_it_is(tmp_path: Path):
    text = BOTH + "import os\nprint(os.environ.get('TF_USE_LEGACY_KERAS'))\n"
    ended = run(tmp_path, text, {**STACK, "tensorflow": "2.15.1"}, LAUNCH_KERAS="2")
    assert keras_of(ended) == "None"


def test_a_module_of_the_scripts_own_by_the_name_of_keras_is_left_alone(tmp_path: Path):
    write_script(tmp_path / "source", "__version__ = 'mine'\n", "keras.py")
    assert keras_of(run(tmp_path, BOTH)) == "mine"


def test_without_tf_keras_there_is_a_line_that_says_what_to_install(tmp_path: Path):
    without = {"tensorflow": "2.17.0", "keras": "3.15.1"}
    ended = run(tmp_path / "auto", BOTH, without)
    assert keras_of(ended) == "3.15.1"
    assert "pip install 'tf-keras~=2.17.0'" in ended.ours[0]
    refused = run(tmp_path / "asked", BOTH, without, LAUNCH_KERAS="2")
    assert (refused.code, refused.printed) == (1, [])
    assert "fix: pip install 'tf-keras~=2.17.0'" in refused.stdout


def test_a_word_that_is_none_is_refused(tmp_path: Path):
    ended = run(tmp_path, BOTH, LAUNCH_KERAS="4")
    assert (ended.code, ended.printed) == (1, [])
    assert "LAUNCH_KERAS: found '4'; expected auto, 2 or 3" in ended.stdout


SAVES = """
import horovod.anyframework
import keras
from keras.src.saving import saving_api
for name in ("a.keras", "b.keras"):
    saving_api.saving_lib.save_model(None, name)
"""


def test_the_keras_that_saved_a_model_is_named_once(tmp_path: Path):
    ended = run(tmp_path / "2", SAVES)
    assert ended.ours[1:2] == ["launch: a.keras was saved by Keras 2 (tf_keras 2.18.0), as .keras"]
    assert "b.keras" not in ended.stdout
    ended = run(tmp_path / "3", SAVES, LAUNCH_KERAS="3")
    assert ended.ours[0] == "launch: a.keras was saved by Keras 3.15.1, as .keras"


@pytest.mark.parametrize(
    ("here", "written", "advice"),
    [
        ("2", "3.15.1", "was written by Keras 3.15.1, and keras is tf_keras (Keras 2) in this job"),
        ("3", "2.18.0", "was written by Keras 2.18.0, and this is Keras 3: run the job with"),
        ("2", "2.18.0", "could not deserialize"),
    ],
)
def test_a_model_of_the_other_keras_says_so_where_it_cannot_be_loaded(
    tmp_path: Path, here: str, written: str, advice: str
):
    (tmp_path / "source").mkdir()
    keras_packages.model_file(tmp_path / "source" / "model.keras", written)
    text = BOTH + (
        "from keras.src.saving import saving_api\n"
        "try:\n    saving_api.load_model('model.keras')\n"
        "except Exception as error:\n    print(error)\n"
    )
    assert advice in keras_of(run(tmp_path, text, LAUNCH_KERAS=here))
