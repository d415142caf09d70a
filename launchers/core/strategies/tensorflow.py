"""TensorFlow's own strategies: one process a host with all of its GPUs, and a replica on each.

Sources: tf.distribute.MultiWorkerMirroredStrategy, MirroredStrategy and TF_CONFIG
(tensorflow.org/guide/distributed_training). ``multi_gpu_model`` went from Keras with TensorFlow
2.4; MirroredStrategy took its place.
"""

from __future__ import annotations

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
    settles_keras=True,
    one_a_host=True,
    # Keras 3's fails on values that are spread over replicas (keras-team/keras issue 20585; Keras
    # 3.15 with TensorFlow 2.18, run).
    fit="2",
)
