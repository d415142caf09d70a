"""The plan's word on Keras: its row, its problems, what travels."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchers.core.analysis.keras_choice import (
    KerasChoice,
    Stack,
    choose_keras,
    our_stack,
    stack_of_image,
)
from launchers.core.registry import PROVIDERS, provider
from launchers.core.source.script import read_source
from launchers.core.spec.job import JobSpec
from launchers.core.strategies import named

BOTH = "import horovod.tensorflow.keras as hvd\nimport keras\n"
ASSIGNED = (
    "import tensorflow as tf\nimport horovod.tensorflow as hvd\n"
    "keras = tf.keras\nmodel = keras.Sequential()\n"
)
WRAPS = "hvd.DistributedOptimizer(keras.optimizers.SGD())\n"
HERE = Stack("2.18.1", "3.15.1", "2.18.0")
WITHOUT = Stack("2.18.1", "3.15.1", "")


def choose(
    folder: Path, text: str, stack: Stack = HERE, world_size: int = 2, **job: object
) -> KerasChoice:
    (folder / "train.py").write_text(text, encoding="utf-8")
    asked = JobSpec(script=str(folder / "train.py"), **job)  # type: ignore[arg-type]
    return choose_keras(asked, read_source(asked), stack, world_size)


@pytest.mark.parametrize(
    ("text", "stack", "asked", "shown", "variables"),
    [
        (BOTH, HERE, "auto", "Keras 2: keras is tf_keras 2.18 for the script and Horovod", "2"),
        (BOTH, Stack(), "auto", "Keras 2: keras is tf_keras where TensorFlow is 2.16 or later", ""),
        (BOTH, Stack("2.12.0"), "auto", "Keras 2, TensorFlow 2.12's own", ""),
        (BOTH, WITHOUT, "auto", "Keras 3, tf-keras is not installed", ""),
        (BOTH, HERE, "3", "Keras 3", "3"),
        (BOTH + "keras.ops\n", Stack(), "auto", "Keras 3", "3"),
        ("import keras\n", HERE, "2", our_row := "Keras 2: keras is tf_keras 2.18 for the script "
         "and Horovod", "2"),
        ("import keras\n", HERE, "auto", None, ""),
        (ASSIGNED, HERE, "auto", our_row, "2"),
        (ASSIGNED + "keras.ops\n", HERE, "auto", "Keras 3", "3"),
        ("import horovod.torch as hvd\n", HERE, "auto", None, ""),
        ("print()\n", HERE, "2", our_row, "2"),
    ],
)  # fmt: skip
def test_the_plan_shows_the_keras_and_tells_it_to_the_ranks(
    tmp_path: Path, text: str, stack: Stack, asked: str, shown: str | None, variables: str
):
    choice = choose(tmp_path, text, stack, keras=asked)
    assert (choice.row.text if choice.row else None) == shown
    assert choice.variables == ({"LAUNCH_KERAS": variables} if variables else {})


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_row_stands_behind_the_environment(tmp_path: Path, name: str):
    script = tmp_path / "train.py"
    asked = JobSpec(script=str(script), gpus=0, options=provider(name).definer.options())
    for text, rows in ((BOTH, ["keras"]), ("print()\n", [])):
        script.write_text(text)
        labels = [row.label for row in provider(name).definer.plan(asked, read_source(asked)).rows]
        at = labels.index("environment") + 1
        assert labels[at : at + len(rows)] == rows
        assert labels.count("keras") == len(rows)


def test_the_reason_names_the_line_of_the_source(tmp_path: Path):
    choice = choose(tmp_path, BOTH + "keras.ops\n")
    assert choice.row is not None
    assert choice.row.origin == "train.py:3 uses keras.ops, which only Keras 3 has"


def test_horovods_wrapper_on_keras_3_is_told_before_the_job(tmp_path: Path):
    text = BOTH + "keras.ops\n" + WRAPS
    (problem,) = choose(tmp_path, text).problems
    assert (problem.path, problem.severity) == ("train.py:4", "warning")
    assert problem.rule == "keras-3-wrapper"
    assert "DistributedOptimizer" in problem.found
    assert choose(tmp_path, text, world_size=1).problems == ()


def test_a_missing_tf_keras_is_told_and_stops_only_who_asked_for_it(tmp_path: Path):
    (problem,) = choose(tmp_path, BOTH, WITHOUT).problems
    assert (problem.rule, problem.severity) == ("keras-missing", "warning")
    assert "pip install 'tf-keras~=2.18.0'" in problem.fix
    (problem,) = choose(tmp_path, BOTH, WITHOUT, keras="2").problems
    assert (problem.path, problem.severity) == ("--keras", "error")


def test_requirements_may_bring_tf_keras(tmp_path: Path):
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("tf_keras==2.18.0\n", encoding="utf-8")
    choice = choose(tmp_path, BOTH, WITHOUT, requirements=str(requirements))
    assert (choice.problems, choice.variables) == ((), {})


def test_keras_3_on_a_tensorflow_without_it_is_told(tmp_path: Path):
    (problem,) = choose(tmp_path, BOTH, Stack("2.12.0"), keras="3").problems
    assert problem.rule == "keras-too-new"
    assert "TensorFlow 2.12.0" in problem.found


def test_our_image_is_known_by_its_name_and_its_pins():
    assert our_stack().tensorflow == "2.18.1"
    assert our_stack().tf_keras == "2.18.0"
    for uri in ("launch-horovod:1", "host/path/launch-horovod@sha256:ab", "h:5000/launch-horovod"):
        assert stack_of_image(uri) == our_stack()
    assert stack_of_image("host/path/mine:1") == Stack()


def test_the_shared_script_gets_keras_2():
    source = read_source(JobSpec())
    assert source.shared
    assert choose_keras(JobSpec(), source, HERE, 2).variables == {"LAUNCH_KERAS": "2"}


FITS = (
    "import tensorflow as tf\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
    "with strategy.scope():\n    model = tf.keras.Sequential()\n"
    "    model.compile(optimizer='sgd', loss='mse')\nmodel.fit([1], [1], epochs=2)\n"
)
LOOPS = (
    "import re\nimport tensorflow as tf\nfrom sklearn.preprocessing import StandardScaler\n"
    "pattern = re.compile('x')\nStandardScaler().fit([[1.0]])\nmodel = tf.keras.Sequential()\n"
)


@pytest.mark.parametrize(
    ("text", "stack", "asked", "severity"),
    [
        (FITS, HERE, "auto", "error"),
        (FITS, WITHOUT, "auto", "error"),
        (FITS, Stack(), "auto", "warning"),
        (FITS, HERE, "3", "warning"),
        (FITS, HERE, "2", ""),
        (FITS, Stack("2.12.0"), "auto", ""),
        ("import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n" + FITS, HERE, "auto", ""),
        (FITS.replace("model.", "net."), HERE, "auto", "error"),
        (LOOPS, HERE, "auto", ""),
    ],
)
def test_fit_of_keras_3_on_several_hosts_is_refused_before_it_fails_there(
    tmp_path: Path, text: str, stack: Stack, asked: str, severity: str
):
    (tmp_path / "train.py").write_text(text, encoding="utf-8")

    def on(instances: int) -> KerasChoice:
        job = JobSpec(script=str(tmp_path / "train.py"), keras=asked, instances=instances)
        return choose_keras(job, read_source(job), stack, instances, None, named("tensorflow"))

    found = [problem for problem in on(2).problems if problem.rule == "keras-3-fit"]
    assert [problem.severity for problem in found] == ([severity] if severity else [])
    assert all("--keras 2" in problem.fix for problem in found)
    assert not on(1).problems, "one host's fit() runs on Keras 3 too"


def test_under_tensorflow_the_row_names_no_horovod(tmp_path: Path):
    (tmp_path / "train.py").write_text(FITS, encoding="utf-8")
    job = JobSpec(script=str(tmp_path / "train.py"), keras="2", instances=2)
    choice = choose_keras(job, read_source(job), HERE, 2, None, named("tensorflow"))
    assert choice.row is not None
    assert choice.row.text == (
        "Keras 2: keras is tf_keras 2.18 for the script and TensorFlow's strategy"
    )
