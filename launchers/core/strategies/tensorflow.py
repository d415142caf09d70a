"""TensorFlow's and Keras' own strategies."""

from __future__ import annotations

from launchers.core.strategies import Strategy

_TF = r"tensorflow(?:\.compat\.v[12])?(?:\.contrib|\.python)?"
_KERAS = rf"(?:{_TF}\.(?:python\.)?keras|keras|tf_keras)"
_TAKE_OUT = (
    "take the strategy and its scope() out and use Horovod instead: hvd.init(), "
    "hvd.DistributedOptimizer or hvd.DistributedGradientTape, a broadcast of the start weights"
)

STRATEGIES = [
    Strategy(
        "MultiWorkerMirroredStrategy",
        (
            rf"{_TF}\.distribute\.(?:\w+\.)*(?:MultiWorkerMirrored|CollectiveAllReduce)Strategy",
            rf"{_TF}\.distribute\.(?:\w+\.)*collective_all_reduce_strategy",
        ),
        _TAKE_OUT,
    ),
    Strategy(
        "MirroredStrategy",
        (
            rf"{_TF}\.distribute\.(?:\w+\.)*MirroredStrategy",
            rf"{_TF}\.distribute\.(?:\w+\.)*mirrored_strategy",
        ),
        _TAKE_OUT,
    ),
    Strategy(
        "tf.distribute",
        (
            rf"{_TF}\.distribute\.(?:\w+\.)*(?:ParameterServer|TPU|CentralStorage)Strategy(?:V[12])?",
        ),
        _TAKE_OUT,
    ),
    Strategy(
        "multi_gpu_model",
        (rf"{_KERAS}\.utils\.(?:\w+\.)*multi_gpu_model",),
        "take multi_gpu_model out: Horovod has one rank a GPU, each with the whole model",
    ),
    Strategy("keras.distribution", (rf"{_KERAS}\.distribution",), _TAKE_OUT),
]
