"""What trains on several devices or hosts and is not started here: recognised in the source, so
that nobody pays for ranks that stay strangers to each other."""

from __future__ import annotations

from launchers.core.strategies.strategy import Use

_TF = r"tensorflow(?:\.compat\.v[12])?(?:\.contrib|\.python)?"
_KERAS = rf"(?:{_TF}\.(?:python\.)?keras|keras|tf_keras)"
_TAKE_OUT = (
    "take the strategy and its scope() out and use Horovod instead: hvd.init(), "
    "hvd.DistributedOptimizer or hvd.DistributedGradientTape, a broadcast of the start weights"
)

TENSORFLOW = (
    Use(
        "MultiWorkerMirroredStrategy",
        (
            rf"{_TF}\.distribute\.(?:\w+\.)*(?:MultiWorkerMirrored|CollectiveAllReduce)Strategy",
            rf"{_TF}\.distribute\.(?:\w+\.)*collective_all_reduce_strategy",
        ),
        instead=_TAKE_OUT,
    ),
    Use(
        "MirroredStrategy",
        (
            rf"{_TF}\.distribute\.(?:\w+\.)*MirroredStrategy",
            rf"{_TF}\.distribute\.(?:\w+\.)*mirrored_strategy",
        ),
        instead=_TAKE_OUT,
    ),
    Use(
        "tf.distribute",
        (
            rf"{_TF}\.distribute\.(?:\w+\.)*(?:ParameterServer|TPU|CentralStorage)Strategy(?:V[12])?",
        ),
        instead=_TAKE_OUT,
    ),
    Use(
        "multi_gpu_model",
        (rf"{_KERAS}\.utils\.(?:\w+\.)*multi_gpu_model",),
        instead="take multi_gpu_model out: Horovod has one rank a GPU, each with the whole model",
    ),
    Use("keras.distribution", (rf"{_KERAS}\.distribution",), instead=_TAKE_OUT),
)

JAX = (
    Use("jax.distributed", (r"jax\.distributed",)),
    Use("jax.pmap", (r"jax\.pmap", r"jax\.experimental\.(?:multihost_utils|pjit|mesh_utils)")),
)

# The first that is seen is named.
USES = (
    *TENSORFLOW,
    *JAX,
    Use("SageMaker's distributed data parallel library", (r"smdistributed",)),
    Use("FairScale", (r"fairscale",)),
    Use("Colossal-AI", (r"colossalai",)),
    Use("PyTorch/XLA", (r"torch_xla",)),
    Use("Apex's DistributedDataParallel", (r"apex\.parallel",)),
    Use("ignite.distributed", (r"ignite\.distributed",)),
    Use("Ray", (r"ray",)),
    Use("mpi4py", (r"mpi4py",), instead="join the ranks by hvd.init() and exchange by Horovod"),
)
