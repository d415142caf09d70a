"""What `make compat` takes out of a script is the wrapping or the broadcast, and nothing else."""

from __future__ import annotations

import ast

import pytest

from tests.compat import variants
from tests.compat.manifest import AS_IS, load

SCRIPT = """\
import horovod.tensorflow.keras as hvd  # größer
opt = hvd.DistributedOptimizer(
    tf.optimizers.Adam(0.1 * hvd.size()), backward_passes_per_step=1)
tape = hvd.DistributedGradientTape(gradtape=tape, compression=c)
callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
]
if first:
    hvd.broadcast_variables(model.variables, root_rank=0)
epoch = hvd.broadcast(epoch, 0, name='epoch')
"""


def test_taking_the_wrapping_out_leaves_what_was_wrapped():
    text = variants.without_wrapping(SCRIPT)
    assert "opt = tf.optimizers.Adam(0.1 * hvd.size())\n" in text
    assert "tape = tape\n" in text
    assert text.splitlines()[0] == SCRIPT.splitlines()[0]
    assert text.splitlines()[-7:] == SCRIPT.splitlines()[-7:]


def test_taking_the_broadcast_out_leaves_other_broadcasts():
    text = variants.without_broadcast(SCRIPT)
    assert "BroadcastGlobalVariables" not in text
    assert "    None\n" in text
    assert "hvd.broadcast(epoch, 0, name='epoch')" in text
    assert "hvd.callbacks.MetricAverageCallback()" in text
    ast.parse(text)


def test_edits_are_literal_and_whole_lines_are_dropped():
    text = variants.edited("a = 24\nK.set_session(x)\nb = 24\n", {"a = 24": "a = 2"}, ["K.set"])
    assert text == "a = 2\nb = 24\n"


def test_the_manifest_names_each_script_once_with_a_whole_commit():
    scripts = load()
    assert all(len(script.commit) == 40 for script in scripts)
    assert all(AS_IS in script.expect for script in scripts)
    outside = [one for one in scripts if one.repository != "horovod/horovod"]
    assert len({one.path + one.repository for one in outside}) >= 15


def test_a_manifest_with_an_unknown_outcome_is_refused(tmp_path):
    path = tmp_path / "scripts.yaml"
    path.write_text(
        "commits: {a/b: c}\nscripts: [{name: x, repository: a/b, path: p, expect: {as it is: ok}}]"
    )
    with pytest.raises(ValueError, match="expect as it is: ok"):
        load(path)
