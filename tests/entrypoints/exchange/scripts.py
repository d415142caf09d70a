"""Training scripts in every way of training together and apart that is told from the other."""

from __future__ import annotations

_START = """
import os, sys
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd
"""

# A network of four variables, drawn by rank unless a seed is given, and data of the rank's own.
_NETWORK = """
RANK = hvd.rank() if hvd.is_initialized() else os.getpid()

class Network:
    def __init__(self, seed=RANK):
        draw = np.random.RandomState(seed)
        self.variables = [
            tf.Variable(draw.randn(8, 16).astype("f")), tf.Variable(tf.zeros(16)),
            tf.Variable(draw.randn(16, 3).astype("f")), tf.Variable(tf.zeros(3)),
        ]

    def loss(self, step):
        draw = np.random.RandomState(100 * (RANK % 1000) + step)
        x = draw.rand(32, 8).astype("f")
        w1, b1, w2, b2 = self.variables
        out = tf.nn.relu(x @ w1 + b1) @ w2 + b2
        labels = (x.sum(1) > 4).astype("int32")
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels, out))

sgd = tf.keras.optimizers.SGD(0.1)
"""

_READY = _START + "hvd.init()\n" + _NETWORK

_STEPS = """
network = Network(SEED)
BEGIN
for step in range(5):
    with tf.GradientTape() as tape:
        loss = network.loss(step)
    TAPE
    gradients = tape.gradient(loss, network.variables)
    EXCHANGE
    sgd.apply_gradients(zip(gradients, network.variables))
    AFTER
"""


def _steps(
    head: str = _READY,
    tape: str = "",
    exchange: str = "",
    after: str = "",
    begin: str = "",
    seed: str = "RANK",
) -> str:
    text = head + _STEPS
    for mark, value in {
        "TAPE": tape, "EXCHANGE": exchange, "AFTER": after, "BEGIN": begin, "SEED": seed
    }.items():  # fmt: skip
        text = text.replace(mark, value or "pass" if mark != "SEED" else value)
    return text


_BROADCAST = "hvd.broadcast_variables(network.variables, root_rank=0)"
_WRAPPED = "tape = hvd.DistributedGradientTape(tape)"

_FUNCTION = (
    _READY
    + """
network = Network()
hvd.broadcast_variables(network.variables, root_rank=0)

@tf.function
def step(number):
    with tf.GradientTape() as tape:
        loss = network.loss(number)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, network.variables)
    sgd.apply_gradients(zip(gradients, network.variables))
    return loss

for number in range(4):
    loss = step(number)
"""
)

_FIT = """
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd
hvd.init()

def main():
    tf.keras.utils.set_random_seed(hvd.rank())
    model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(3)])
    optimizer = tf.keras.optimizers.Adam(0.1)
    optimizer = hvd.DistributedOptimizer(optimizer)
    model.compile(optimizer, "mse")
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
    model.fit(np.random.rand(32, 8), np.random.rand(32, 3), batch_size=8, verbose=0,
              callbacks=callbacks)

main()
"""

# What a script does for fine-tuning, and forgets to wrap.
_COMPILED_ANEW = """\
    model.compile(tf.keras.optimizers.SGD(0.01), "mse")
    model.fit(np.random.rand(32, 8), np.random.rand(32, 3), batch_size=8, verbose=0)"""
_COMPILED_AND_WRAPPED = _COMPILED_ANEW.replace(
    "tf.keras.optimizers.SGD(0.01)", "hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01))"
)
# Horovod's optimizer for Keras averages where it computes gradients, and not where it applies them.
_APPLIED_BY_A_WRAPPED_ONE = """\
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01))
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(np.random.rand(8, 8)) - np.random.rand(8, 3)) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))"""
_TWO = """
network = Network(1)
def plain():
    with tf.GradientTape() as tape:
        loss = network.loss(1)
    return tf.linalg.global_norm(tape.gradient(loss, network.variables))
OPTIMIZERS = [tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.Adam(0.01)]
"""
_LOOKED_AT = (
    _READY
    + _TWO
    + """
for optimizer in OPTIMIZERS:
    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = network.loss(2)
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, network.variables)
        norm = plain()
        optimizer.apply_gradients(zip(gradients, network.variables))
        return norm
    for _ in range(3):
        step()
"""
)
_TRACED_BEFORE = (
    _READY
    + _TWO
    + """
@tf.function
def averages():
    with tf.GradientTape() as tape:
        loss = network.loss(2)
    return hvd.DistributedGradientTape(tape).gradient(loss, network.variables)
for optimizer in OPTIMIZERS:
    for _ in range(3):
        optimizer.apply_gradients(zip(averages(), network.variables))
    plain()
"""
)
_HALF_AVERAGED = "gradients = [hvd.allreduce(one) for one in gradients[:2]] + gradients[2:]"

_GAN = (
    _READY
    + """
generator, discriminator = Network(1), Network(2)
first, second = tf.keras.optimizers.Adam(0.01), tf.keras.optimizers.Adam(0.01)

@tf.function
def step(number):
    with tf.GradientTape() as one, tf.GradientTape() as other:
        losses = generator.loss(number), discriminator.loss(number)
    one = hvd.DistributedGradientTape(one)
    other = hvd.DistributedGradientTape(other)
    for tape, optimizer, network, loss in (
        (one, first, generator, losses[0]), (other, second, discriminator, losses[1])
    ):
        gradients = tape.gradient(loss, network.variables)
        optimizer.apply_gradients(zip(gradients, network.variables))

for number in range(3):
    step(number)
"""
)

_AVERAGES = (
    _READY
    + """
network = Network()

@tf.function
def average():
    for variable, mean in zip(network.variables, hvd.grouped_allreduce(network.variables)):
        variable.assign(mean)

@tf.function
def step(number):
    with tf.GradientTape() as tape:
        loss = network.loss(number)
    sgd.apply_gradients(zip(tape.gradient(loss, network.variables), network.variables))

for number in range(4):
    step(number)
    if number % 2:
        average()
"""
)

_SUMS = (
    _READY
    + """
network = Network(1)
sums = [tf.Variable(tf.zeros_like(variable)) for variable in network.variables]
for number in range(4):
    with tf.GradientTape() as tape:
        loss = network.loss(number)
    for total, gradient in zip(sums, tape.gradient(loss, network.variables)):
        total.assign_add(gradient)
    if number % 2:
        means = [hvd.allreduce(total, compression=hvd.Compression.fp16) for total in sums]
        sgd.apply_gradients(zip(means, network.variables))
        for total in sums:
            total.assign(tf.zeros_like(total))
"""
)

_CLIPPED = "gradients = tf.clip_by_global_norm(gradients, 1.0)[0]; "
_BY_RANK_0 = """means = [hvd.allreduce(v) for v in network.variables]
    if RANK == 0:
        for v, mean in zip(network.variables, means): v.assign(mean)
"""
# Two models of one shape; averages that nobody can follow are of the first.
_TWINS = (
    _READY
    + """
one, two = Network(1), Network(2)
optimizers = {one: tf.keras.optimizers.SGD(0.1), two: tf.keras.optimizers.SGD(0.1)}
for step in range(5):
    for network, optimizer in optimizers.items():
        with tf.GradientTape() as tape:
            loss = network.loss(step)
        gradients = tape.gradient(loss, network.variables)
        if network is one:
            gradients = [hvd.allreduce(g * 1) for g in gradients]
        optimizer.apply_gradients(zip(gradients, network.variables))
"""
)
_MOMENTS = """import horovod.tensorflow as hvdtf
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(64), hvdtf.SyncBatchNormalization(), tf.keras.layers.Dense(3)])
"""
# Each rank has rows of a layer, which all of them gather.
_SHARDS = (
    _READY
    + """
rows = tf.Variable(np.random.RandomState(RANK).randn(4, 16).astype("f"))
x = np.random.RandomState(RANK).rand(32, 8).astype("f")
for step in range(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ hvd.allgather(rows)) ** 2)
    sgd.apply_gradients([(tape.gradient(loss, rows), rows)])
"""
)
# A model a round, of the averages of the one before.
_ROUNDS = (
    _READY
    + """
means = [v.numpy() for v in Network(1).variables]
for number in range(3):
    network = Network(1)
    network.variables = [tf.Variable(mean) for mean in means]
    optimizer = tf.keras.optimizers.SGD(0.1)
    for step in range(3):
        with tf.GradientTape() as tape:
            loss = network.loss(step)
        optimizer.apply_gradients(zip(tape.gradient(loss, network.variables), network.variables))
    means = [hvd.allreduce(v.numpy()).numpy() for v in network.variables]
for v, mean in zip(network.variables, means): v.assign(mean)
"""
)
_BY_A_BROADCAST = """parts = [hvd.allgather(v.read_value()[None]) for v in network.variables]
    if RANK == 0:
        for v, part in zip(network.variables, parts): v.assign(tf.reduce_mean(part, 0))
    hvd.broadcast_variables(network.variables, root_rank=0)
"""

_METRICS = """hvd.allgather_object(
    {"loss": float(loss), "accuracy": 0.5, "step": step, "of": "rank %d of the training" % RANK})
"""

_LOCAL_LAYERS = (
    _READY
    + """
shared, own = tf.keras.layers.Dense(6), tf.keras.layers.Dense(3)
other = tf.keras.optimizers.SGD(0.2)
x = np.random.RandomState(RANK).rand(32, 8).astype("f")
own(shared(x))
hvd.broadcast_variables(shared.trainable_variables, root_rank=0)
for _ in range(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(own(shared(x)) ** 2)
    tape = hvd.PartialDistributedGradientTape(tape, local_layers=[own])
    variables = shared.trainable_variables + own.trainable_variables
    pairs = list(zip(tape.gradient(loss, variables), variables))
    sgd.apply_gradients(pairs[:2])
    other.apply_gradients(pairs[2:])
"""
)

_SPARSE = (
    _READY
    + """
table = tf.Variable(tf.random.stateless_normal([5000, 4], [1, 2]))
for step in range(3):
    with tf.GradientTape() as tape:
        rows = tf.nn.embedding_lookup(table, np.random.RandomState(RANK).randint(0, 5000, 32))
        loss = tf.reduce_mean(rows ** 2)
    tape = hvd.DistributedGradientTape(tape)
    sgd.apply_gradients(zip(tape.gradient(loss, [table]), [table]))
"""
)

_CHILD_INITIALISES = (
    _START
    + """
import multiprocessing

def child():
    hvd.init()
    hvd.allreduce(tf.constant(1.0))

process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
assert process.exitcode == 0
"""
    + _NETWORK
)

_KEEPS_NOTHING = (
    _READY
    + """
import gc, weakref
network = Network(1)
references = [weakref.ref(variable) for variable in network.variables]
for step in range(3):
    with tf.GradientTape() as tape:
        loss = network.loss(step)
    tape = hvd.DistributedGradientTape(tape)
    sgd.apply_gradients(zip(tape.gradient(loss, network.variables), network.variables))
del network, tape, loss
sgd = None
gc.collect()
assert not [reference for reference in references if reference() is not None]
"""
)

_SETS_OF_ONE = (
    _START
    + """
sets = [hvd.ProcessSet([0]), hvd.ProcessSet([1])]
hvd.init(process_sets=sets)
"""
    + _NETWORK
)
_PAIRS = (
    _START
    + """
sets = [hvd.ProcessSet([0, 1]), hvd.ProcessSet([2, 3])]
hvd.init(process_sets=sets)
mine = sets[hvd.rank() // 2]
"""
    + _NETWORK
)
_SET_TAPE = "tape = hvd.DistributedGradientTape(tape, process_set={})"
# Whoever leaves takes Horovod away from ranks that are still at it.
_LEAVE_TOGETHER = "hvd.allreduce(tf.constant(1.0))\n"

_BATCHES = (
    _FUNCTION.replace("def step(number):", "def step(batch, number):")
    .replace("loss = network.loss(number)", "loss = network.loss(number) + tf.reduce_mean(batch)")
    .replace(
        "loss = step(number)",
        "loss = step(np.random.RandomState(SEED).rand(8).astype('f'), number)",
    )
)

_UNREACHED = "what went to other ranks was not put into the variables of {} rank"
EXCHANGED, EQUAL = "gradients exchanged", "gradients exchanged, weights equal"
SHUTDOWN = _START + "hvd.init()\nhvd.shutdown()\n" + _NETWORK

# Name -> script, and the words of the proof.
TOGETHER = {
    "fit": (_FIT, EQUAL),
    "a tape in a function": (_FUNCTION, EQUAL),
    "a tape, eager": (_steps(begin=_BROADCAST, tape=_WRAPPED), EQUAL),
    "no broadcast, one seed": (_steps(tape=_WRAPPED, seed="1"), EQUAL),
    "backward passes": (
        _FIT.replace("Optimizer(optimizer)", "Optimizer(optimizer, backward_passes_per_step=2)"),
        "gradients exchanged (accumulated), weights equal",
    ),
    "own backward passes in 16 bits": (
        _SUMS,
        "gradients exchanged (fp16, accumulated), weights equal",
    ),
    "a tape, eager, on the same samples": (
        _steps(begin=_BROADCAST, tape=_WRAPPED).replace("100 * (RANK % 1000) + step", "step"),
        f"{EQUAL}, losses equal in all ranks (the same samples?)",
    ),
    "a function of a batch": (_BATCHES.replace("SEED", "9 * number + RANK"), EQUAL),
    "a function of the same batches": (
        _BATCHES.replace("SEED", "number"),
        f"{EQUAL}, batches equal in all ranks (the same samples?)",
    ),
    "fit on the same samples": (
        _FIT.replace("seed(hvd.rank())", "seed(1)"),
        f"{EQUAL}, losses equal in all ranks (the same samples?)",
    ),
    "parameters averaged": (_AVERAGES, "parameters exchanged, weights equal"),
    "own allreduce": (
        _steps(exchange="gradients = [hvd.allreduce(g) for g in gradients]", seed="1"),
        EQUAL,
    ),
    "own allreduce, in a function": (
        _FUNCTION.replace(f"    {_WRAPPED}\n", "").replace(
            "    sgd.apply", "    gradients = hvd.grouped_allreduce(gradients)\n    sgd.apply"
        ),
        EQUAL,
    ),
    "what a wrapped tape gives, exchanged once more to be looked at": (
        _steps(begin=_BROADCAST, tape=_WRAPPED, exchange="for g in gradients: hvd.allreduce(g)"),
        EQUAL,
    ),
    "own allreduce of clipped gradients": (
        _steps(
            exchange="gradients = hvd.grouped_allreduce("
            "tf.clip_by_global_norm(gradients, 1.0)[0]); gradients = [g * 1 for g in gradients]",
            seed="1",
        ),
        "values exchanged, weights equal",
    ),
    "pickled gradients": (
        _steps(
            exchange="gradients = [tf.constant(sum(parts) / 2) for parts in "
            "zip(*hvd.allgather_object([g.numpy() for g in gradients]))]",
            seed="1",
        ),
        "exchange of unknown values seen, weights equal",
    ),
    "own allreduce of weights": (
        _steps(after="for v in network.variables: v.assign(hvd.allreduce(v))"),
        "parameters exchanged, weights equal",
    ),
    "rows of a layer, gathered in the loss": (
        _SHARDS,
        "parameters exchanged, weights differ by 83% at the end",
    ),
    "a model a round": (_ROUNDS, "values exchanged, weights differ by 2% at the end"),
    "averages of rank 0, broadcast": (
        _steps(begin=_BROADCAST, after=_BY_A_BROADCAST),
        "exchange of unknown values seen, weights equal",
    ),
    "own allreduce of weights, by rows": (
        _steps(after="for v in network.variables: v.scatter_update("
               "tf.IndexedSlices(hvd.allreduce(v), tf.range(v.shape[0])))"),
        "parameters exchanged, weights equal",
    ),
    "own allreduce of weights, by slices": (
        _steps(after="for v in network.variables: v[:].assign(hvd.allreduce(v.numpy()))"),
        "parameters exchanged, weights equal",
    ),
    "sparse embeddings": (_SPARSE, EQUAL),
    "join": (
        _steps(begin=_BROADCAST, tape=_WRAPPED).replace("range(5)", "range(3 + hvd.rank())")
        + "hvd.join()\n",
        "gradients exchanged, weights not compared (hvd.join() was called)",
    ),
    "local layers": (_LOCAL_LAYERS, EQUAL),
    "averages taken by rank 0 before it saves": (
        _FUNCTION
        + "if hvd.rank() == 0:\n    [v.assign(v * 0.5) for v in network.variables]\n",
        "gradients exchanged, weights not compared (reassigned after the last step)",
    ),
    "a GAN": (_GAN, EQUAL),
    "a second optimizer, and gradients that are looked at": (_LOOKED_AT, EQUAL),
    "a second optimizer of a function that was traced before": (_TRACED_BEFORE, EQUAL),
    "a second compile": (
        _FIT.replace("callbacks=callbacks)", "callbacks=callbacks)\n" + _COMPILED_AND_WRAPPED),
        EQUAL,
    ),
    "rank 0 compiles and trains on": (
        _FIT.replace(
            "callbacks=callbacks)",
            "callbacks=callbacks)\n    if hvd.rank():\n        return\n" + _COMPILED_ANEW,
        ),
        "gradients exchanged, weights not compared (reassigned after the last step)",
    ),
    "one rank trains and broadcasts": (
        _steps(after=_BROADCAST).replace("    with", "    if hvd.rank(): hvd.broadcast_variables("
        "network.variables, root_rank=0); continue\n    with"),
        "rank 0 trained, and exchanged with the others",
    ),
    "stopping early together": (
        _FUNCTION + "    if float(hvd.allreduce(loss)) < 1000: break\n",
        EQUAL,
    ),
    "evaluation": (
        _READY + "print(float(hvd.allreduce(Network().loss(0))))\n",
        "no training seen",
    ),
    "a model that is dropped": (_KEEPS_NOTHING, EQUAL),
}  # fmt: skip

# Name -> script, and what the failure must say.
APART = {
    "no collective": (_steps(after="pass"), "2 ranks trained apart: no gradient and no weight"),
    "averages that nobody assigns": (
        _steps(after="for v in network.variables: hvd.allreduce(v)"),
        "2 ranks trained apart: their weights went to other ranks, and no variable was given",
    ),
    "gradients whose averages nobody applies": (
        _steps(begin=_BROADCAST, exchange="for g in gradients: hvd.allreduce(g)"),
        "what came back was not put into them: SGD applied their own gradients",
    ),
    "the same in a function, as a group": (
        _FUNCTION.replace(f"    {_WRAPPED}\n", "").replace(
            "    sgd.apply", "    hvd.grouped_allreduce(gradients)\n    sgd.apply"
        ),
        "what came back was not put into them: SGD applied their own gradients",
    ),
    "clipped gradients whose averages nobody applies": (
        _steps(begin=_BROADCAST, exchange=_CLIPPED + "hvd.grouped_allreduce(gradients)"),
        _UNREACHED.format(2),
    ),
    "copies of weights whose averages nobody assigns": (
        _steps(begin=_BROADCAST, after="for v in network.variables: hvd.allreduce(v.numpy())"),
        _UNREACHED.format(2),
    ),
    "averages that rank 0 alone takes": (
        _steps(begin=_BROADCAST, after=_BY_RANK_0), _UNREACHED.format(1)
    ),
    "one of two models, by averages of clipped gradients": (_TWINS, _UNREACHED.format(2)),
    "moments of batches alone": (
        _FIT.replace("optimizer = hvd.DistributedOptimizer(optimizer)", _MOMENTS),
        "2 ranks trained apart: no gradient and no weight",
    ),
    "averages before the first step, and metrics": (
        _steps(
            begin="for v in network.variables: v.assign(hvd.allreduce(v))",
            after=_METRICS.replace("\n", ""),
        ),
        "2 ranks trained apart: no gradient and no weight",
    ),
    "a metric alone": (
        _steps(begin=_BROADCAST, after="hvd.allreduce(loss)"),
        "2 ranks trained apart: no gradient and no weight",
    ),
    "fit without wrapping": (
        _FIT.replace("optimizer = hvd.DistributedOptimizer(optimizer)", "pass"),
        "2 ranks trained apart: no gradient and no weight",
    ),
    "fit without broadcast": (
        _FIT.replace("callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]",
                     "callbacks = []"),
        "the weights differ at the end: a variable of shape",
    ),
    "a tape without broadcast": (
        _FUNCTION.replace(_BROADCAST, ""),
        "the weights differ at the end: a variable of shape",
    ),
    "Keras 3": (
        "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '0'\n" + _FIT.replace(
            "callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]", "callbacks = []"),
        "2 ranks trained apart: no gradient and no weight",
    ),
    "before init": (
        _steps(head=_START + _NETWORK) + "hvd.init()\n",
        "trained before hvd.init() had returned",
    ),
    "after shutdown": (_steps(head=SHUTDOWN), "while Horovod was not running"),
    "init in a child": (_steps(head=_CHILD_INITIALISES), "in a process that never called it"),
    "process sets of one": (
        _steps(head=_SETS_OF_ONE, tape=_SET_TAPE.format("sets[hvd.rank()]")) + _LEAVE_TOGETHER,
        "process sets of one rank",
    ),
    "rank 0 leaves": (
        _steps(head=_READY + "if hvd.rank() == 0: sys.exit(0)\n"),
        "rank 1 trained alone",
    ),
    "a second compile without wrapping": (
        _FIT.replace("callbacks=callbacks)", "callbacks=callbacks)\n" + _COMPILED_ANEW),
        "trained apart with one of their optimizers: the gradients of SGD",
    ),
    "a plain tape for a wrapped optimizer, after fit": (
        _FIT.replace("callbacks=callbacks)", "callbacks=callbacks)\n" + _APPLIED_BY_A_WRAPPED_ONE),
        "trained apart with one of their optimizers: the gradients of SGD",
    ),
    "a layer by the plain tape": (
        _steps(begin=_BROADCAST, exchange=_HALF_AVERAGED),
        "ranks trained apart in a part: 2 of the 4 variables of SGD were not exchanged",
    ),
    "predictions gathered once": (
        _steps(after="").replace("range(5)", "range(12)")
        + "hvd.allgather(tf.random.normal([100, 3]))\n",
        "2 ranks trained apart: their weights differ by",
    ),
    "half a GAN": (
        _GAN.replace("    other = hvd.DistributedGradientTape(other)\n", ""),
        "trained apart with one of their optimizers: the gradients of Adam",
    ),
}  # fmt: skip

# Three ranks, one of which is in no set.
OUTSIDE = (
    _steps(head=_PAIRS.replace(", hvd.ProcessSet([2, 3])", "").replace("// 2", "* 0"),
           tape=_SET_TAPE.format("mine"), seed="1") + _LEAVE_TOGETHER
)  # fmt: skip
# Four ranks in two pairs.
PAIRS_APART = (
    _steps(head=_PAIRS, tape=_SET_TAPE.format("mine"), seed="hvd.rank() // 2") + _LEAVE_TOGETHER
)
PAIRS_TOGETHER = _steps(
    head=_PAIRS,
    tape=_SET_TAPE.format("mine"),
    exchange="gradients = [hvd.allreduce(g) for g in gradients]",
    seed="1",
)
