"""TensorFlow's own strategies: one process a host with all of its GPUs, and a replica on each.

Sources: tf.distribute.MultiWorkerMirroredStrategy, MirroredStrategy and TF_CONFIG
(tensorflow.org/guide/distributed_training). ``multi_gpu_model`` went from Keras with TensorFlow
2.4; MirroredStrategy took its place.
"""

from __future__ import annotations

from launchers.core.model.image_needs import ImageNeeds, Part
from launchers.core.strategies.strategy import Strategy, Use

_TF = r"tensorflow(?:\.compat\.v[12])?(?:\.contrib|\.python)?"
_DISTRIBUTE = rf"{_TF}\.distribute\.(?:\w+\.)*"
_KERAS = rf"(?:{_TF}\.(?:python\.)?keras|keras|tf_keras)"
_TAKE_OUT = (
    "take the strategy and its scope() out and use Horovod instead: hvd.init(), "
    "hvd.DistributedOptimizer or hvd.DistributedGradientTape, a broadcast of the start weights"
)
_HOSTS = "tf.distribute.MultiWorkerMirroredStrategy()"
_NOT_STARTED = (
    f"use {_HOSTS}, or on one host tf.distribute.MirroredStrategy(); no servers and no TPUs are "
    "started here"
)

USES = (
    Use(
        "MultiWorkerMirroredStrategy",
        (
            rf"{_DISTRIBUTE}(?:MultiWorkerMirrored|CollectiveAllReduce)Strategy",
            rf"{_DISTRIBUTE}collective_all_reduce_strategy",
        ),
        (rf"{_DISTRIBUTE}(?:MultiWorkerMirrored|CollectiveAllReduce)Strategy(?:V1)?",),
        _TAKE_OUT,
    ),
    Use(
        "MirroredStrategy",
        (rf"{_DISTRIBUTE}MirroredStrategy", rf"{_DISTRIBUTE}mirrored_strategy"),
        (rf"{_DISTRIBUTE}MirroredStrategy(?:V1)?",),
        _TAKE_OUT,
        yields=True,  # of two strategies it is the one for a single host
        one_host=f"use {_HOSTS}, which reads TF_CONFIG; MirroredStrategy knows the devices of one "
        "host, and each host would train a copy alone",
    ),
)

# What `launch image check` asks of an image; it has no network there but its own loopback.
_LOOK = """\
import tensorflow as tf
print("ANSWER tensorflow", tf.__version__)
try:
    import tf_keras
    keras = 2
except ImportError:
    keras = int(tf.keras.__version__.split(".")[0])
print("ANSWER remark Keras 2" if keras == 2 else "")
"""
_JOIN = """\
import json, os, socket
held = [socket.socket() for _ in range(2)]
for one in held:
    one.bind(("127.0.0.1", 0))
workers = ["127.0.0.1:%d" % one.getsockname()[1] for one in held]
for one in held:
    one.close()
child = os.fork()
task = {"type": "worker", "index": 0 if child else 1}
os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": task})
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()

@tf.function
def added():
    ones = strategy.run(lambda: tf.constant(1.0))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, ones, axis=None)

total = (strategy.num_replicas_in_sync, int(added()))
assert total == (2, 2), total
if child and os.waitpid(child, 0)[1] == 0:
    print("ANSWER ranks world size 2")
"""

IMAGE = ImageNeeds(
    packages=("tensorflow",),
    parts=(
        Part("tensorflow", "TensorFlow", "pip install tensorflow tf-keras"),
        Part("ranks", "two hosts' workers find each other", "see what they say in the image"),
    ),
    programs={"tensorflow": _LOOK, "ranks": _JOIN},
    remark="no tf-keras beside Keras 3, whose fit() fails under a strategy; own loops work",
)

STRATEGY = Strategy(
    name="tensorflow",
    title="TensorFlow's strategy",
    joining="MultiWorkerMirroredStrategy()",
    bring_in=f"Or make model and optimizer under the scope() of {_HOSTS}",
    uses=USES,
    words=r"MirroredStrategy|CollectiveAllReduceStrategy",
    cannot=(
        Use(
            "tf.distribute",
            (rf"{_DISTRIBUTE}(?:ParameterServer|TPU|CentralStorage)Strategy(?:V[12])?",),
            instead=_NOT_STARTED,
        ),
        Use(
            "multi_gpu_model",
            (rf"{_KERAS}\.utils\.(?:\w+\.)*multi_gpu_model",),
            instead="take multi_gpu_model out: tf.distribute.MirroredStrategy() took its place, "
            "under whose scope() the model is made",
        ),
        Use("keras.distribution", (rf"{_KERAS}\.distribution",), instead=_NOT_STARTED),
    ),
    library="TensorFlow",
    package="tensorflow",
    install="install it there: pip install tensorflow",
    reserved=("TF_CONFIG",),
    image=IMAGE,
    settles_keras=True,
    one_a_host=True,
    # Keras 3's fails on values that are spread over replicas (keras-team/keras issue 20585; Keras
    # 3.15 with TensorFlow 2.18, run).
    fit="2",
)
