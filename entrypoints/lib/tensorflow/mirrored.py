"""MirroredStrategy: one process that trains a replica of the model on each of its devices.

A replica counts as a rank: it reads what a rank of its number would read, ``--batch-size`` is its
own, and the world size is the number of replicas.
"""

from __future__ import annotations

import itertools
import os
from typing import Any, Iterator, Mapping, Sequence, TypeVar, cast

import tensorflow as tf

from ..arrays import Array
from ..cores import threads_per_rank
from ..data.dataset import Course, DataSet, Part
from ..errors import TrainingError
from ..ranks import Ranks, check_size

T = TypeVar("T")

DEVICES_VARIABLE = "LAUNCH_CPU_DEVICES"
VISIBLE = "CUDA_VISIBLE_DEVICES"


def devices(environment: Mapping[str, str]) -> list[str]:
    """The devices that replicas are put on: all GPUs that this process sees, else CPU devices.

    Without a GPU so many logical CPU devices are made as LAUNCH_CPU_DEVICES says, or as
    CUDA_VISIBLE_DEVICES names (``0,1``), or one: they stand for GPUs where there are none, as in
    tests, and make nothing faster.

    Raises:
        TrainingError: LAUNCH_CPU_DEVICES is no number, or the launcher has started ranks of another
            strategy.
    """
    told = environment.get("LAUNCH_STRATEGY", "tensorflow")
    if told not in ("tensorflow", "none"):
        raise TrainingError(
            f"LAUNCH_STRATEGY is {told}, and this script trains by --strategy tensorflow"
        )
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if gpus:
        return [f"GPU:{number}" for number in range(len(gpus))]
    text = environment.get(DEVICES_VARIABLE, "")
    if text and not (text.isdigit() and 1 <= int(text) <= 64):
        raise TrainingError(f"{DEVICES_VARIABLE} is {text!r}: expected a number from 1 to 64")
    named = [name for name in environment.get(VISIBLE, "").split(",") if name.strip().isdigit()]
    count = int(text) if text else max(1, len(named))
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration()] * count
    )
    threads = threads_per_rank(1, environment)
    if threads is not None:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    return [f"CPU:{number}" for number in range(count)]


class Replicas(Ranks):
    """The replicas of a strategy in the place of ranks.

    Args:
        strategy: A MirroredStrategy.
    """

    def __init__(self, strategy: Any):
        size = int(strategy.num_replicas_in_sync)
        super().__init__(rank=0, size=size, position=0, on_this_host=1)
        check_size(size, "MirroredStrategy", os.environ)

    def gather(self, value: T) -> list[T]:
        """The one process's value for each replica."""
        return [value] * self.size

    def from_first(self, value: T) -> T:
        """The value."""
        return value

    def reading(self, data: DataSet) -> DataSet:
        """The data of all replicas."""
        return cast(DataSet, _OfAll(data))


class _OfAll:
    """A data set whose course is that of all ranks, batch after batch in their order."""

    def __init__(self, data: DataSet):
        self._data = data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._data, name)

    def course(self, part: Part, start: Mapping[str, Any] | None) -> Course:
        """The way of all ranks."""
        numbers = range(part.world_size)
        parts = [Part(**{**vars(part), "rank": number}) for number in numbers]
        return cast(Course, _CourseOfAll([self._data.course(each, start) for each in parts]))

    def test_arrays(self, rank: int, world_size: int, batch_size: int) -> Iterator[tuple[Any, ...]]:
        """The test batches of all ranks."""
        parts = (self._data.test_arrays(n, world_size, batch_size) for n in range(world_size))
        return itertools.chain.from_iterable(parts)


class _CourseOfAll:
    def __init__(self, courses: Sequence[Course]):
        self._courses = courses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._courses[0], name)

    def batches(self, epochs: int, first: int = 0) -> Any:
        """A step's batch of the first rank, of the second one, and so on."""
        ways = tuple(course.batches(epochs, first) for course in self._courses)

        def one_after_another(*step: Any) -> Any:
            found = tf.data.Dataset.from_tensors(step[0])
            for batch in step[1:]:
                found = found.concatenate(tf.data.Dataset.from_tensors(batch))
            return found

        return tf.data.Dataset.zip(ways).flat_map(one_after_another).prefetch(2)


def distributed(strategy: Any, batches: Any) -> Any:
    """The strategy's way to read them: each replica gets the next batch."""
    return strategy.distribute_datasets_from_function(lambda context: batches)


class MirroredLearner:
    """See ``learner.Learner``.

    Args:
        model: Made and compiled in the strategy's scope.
    """

    def __init__(self, model: Any):
        self._model = model
        self._predict: Any = None

    @property
    def versions(self) -> Mapping[str, str]:
        """TensorFlow's."""
        return {"TensorFlow": tf.__version__}

    @property
    def identity(self) -> Mapping[str, Any]:
        """What it started from, as Horovod's ranks have it, which go on from its checkpoints."""
        identity: Mapping[str, Any] = self._model.blueprint.identity
        return identity

    def weights(self) -> list[Array]:
        """In the order of ``model.weights``."""
        return [weight.numpy() for weight in self._model.weights]

    def optimizer_state(self) -> list[Array]:
        """In the order of the optimizer's variables."""
        return [variable.numpy() for variable in self._of_optimizer()]

    def fill(self, weights: Sequence[Array], optimizer: Sequence[Array]) -> None:
        """Puts these into all replicas' model and optimizer."""
        variables = [*self._model.weights, *self._of_optimizer()]
        for variable, array in zip(variables, [*weights, *optimizer]):
            variable.assign(array)

    def take_first(self) -> None:
        """The strategy has made all replicas' values equal."""

    def settle(self) -> None:
        """The strategy averages what replicas gather."""

    def predict(self, images: Array) -> Array:
        """The model's answer for one batch."""
        if self._predict is None:
            batch = tf.TensorSpec([None, *self._model.input_shape[1:]], tf.float32)
            self._predict = tf.function(
                lambda pixels: self._model(pixels, training=False), input_signature=[batch]
            )
        found: Array = self._predict(tf.constant(images, tf.float32)).numpy()
        return found

    def _of_optimizer(self) -> list[Any]:
        variables = self._model.optimizer.variables
        return list(variables() if callable(variables) else variables)


def create_optimizer_state(strategy: Any, model: Any) -> None:
    """Makes the optimizer's variables, so that a checkpoint's values can be put into them; the
    weights stay as they are."""

    def no_step() -> None:
        nothing = [(tf.zeros_like(weight), weight) for weight in model.trainable_variables]
        model.optimizer.apply_gradients(nothing)

    strategy.run(tf.function(no_step))
    model.optimizer.iterations.assign(0)
