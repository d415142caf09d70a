"""Pictures in Parquet for PyTorch: an IterableDataset of batches, and the loader around it.

    for images, labels in picture_loader("OUT", batch_size=64, size=(224, 224), workers=2): ...

Batches are made by the data set itself: ``DataLoader(batches, batch_size=None)``. All ranks have
the same number of steps, so none waits for another; with ``remainder="uneven"`` they may differ by
some, and DistributedDataParallel wants ``with model.join():`` around the loop.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import replace
from typing import Any, Iterator, Mapping

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from ..errors import TrainingError
from ..pictures import torch_decoding
from .decoding_ahead import PictureForm, decoded_batches
from .division import PAD, UNEVEN, Division
from .parquet_place import Pictures
from .position import Position, from_json
from .reader import PictureReader
from .world import decoding_threads

_LETTER_BYTES = 64 << 10


class WorkerError(TrainingError):
    """What stopped a worker, one line.

    DataLoader makes it anew in the rank from a text with the worker's traceback.
    """

    def __init__(self, text: str) -> None:
        last = str(text).strip().splitlines()[-1:] or [""]
        super().__init__(last[0].rpartition("WorkerError: ")[2])


class PictureBatches(IterableDataset):
    """The batches of one rank, or in a DataLoader's worker that worker's part of them.

    A batch is (images, labels), with ``remainder="pad"`` (images, labels, weights): images (n,
    channels, height, width) as the form says, labels (n,) int64, weights (n,) float32, 0 for a
    repeated picture. With workers each has short batches of its own at an epoch's end.

    An iteration gives one epoch, ``steps`` batches, or no end. One that is left early is over: the
    next one is the next epoch's, or with ``steps`` or ``endless`` goes on behind the last batch.
    """

    def __init__(
        self,
        pictures: Pictures,
        division: Division,
        form: PictureForm | None = None,
        *,
        rank: int = 0,
        seed: int = 0,
        endless: bool = False,
        steps: int | None = None,
        threads: int | None = None,
        ahead: int = 2,
        ahead_bytes: int = 256 << 20,
    ) -> None:
        """Checks what can be checked before training.

        Args:
            pictures: From ``open_place``.
            division: ``workers`` are those of the DataLoader: 1 for ``num_workers`` 0 and 1.
            form: What is made of a picture.
            rank: Of ``division.ranks``.
            seed: Of orders, augmentation and workers.
            endless: Epoch after epoch without an end, as many ranks' steps may be counted outside.
            steps: Batches of an iteration, over the borders of epochs.
            threads: That decode, of each process; for None the rank's part of the host's cores
                among its workers.
            ahead: Batches that each process decodes ahead.
            ahead_bytes: Of encoded pictures that each process holds, roughly.

        Raises:
            TrainingError: Fewer pictures than ranks, or what doesn't go together.
        """
        if division.remainder == UNEVEN and (endless or steps is not None):
            raise TrainingError(
                "remainder uneven: ranks would be in different epochs after an endless iteration "
                "or one of fixed steps. Use drop or pad, or one epoch an iteration."
            )
        if steps is not None and steps < 1:
            raise TrainingError(f"steps {steps}: expected at least 1")
        self.form, self.division, self.seed = form or PictureForm(), division, seed
        self._reader = PictureReader(
            pictures, division, rank=rank, seed=seed, ahead_bytes=ahead_bytes
        )
        self._endless, self._steps, self._ahead = endless, steps, ahead
        torch_decoding.decoder()  # loads torchvision: workers that are forked have it then
        self._threads = threads or decoding_threads(division.workers)
        # Shared with workers: a persistent one has this object as it was when the worker started.
        self._letter = torch.zeros(_LETTER_BYTES, dtype=torch.uint8).share_memory_()
        self._taken = 0  # batches since the letter's position, of the rank; in a worker its own
        self._loaded = 0  # those that a worker of torchdata's StatefulDataLoader has behind it
        self._post(self._reader.start, 0)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The batches from the current position on. Close it to end its threads."""
        info = get_worker_info()
        count = 1 if info is None else info.num_workers
        if count != self.division.workers:
            raise WorkerError(
                f"a DataLoader of {count} workers and a data set made for {self.division.workers}: "
                "give Division(workers=...) the DataLoader's num_workers"
            )
        if info is None:
            self.begin()
            return self._batches(0, 0)
        own, self._taken, self._loaded = self._loaded, 0, 0
        return self._batches(info.id, own)

    def __len__(self) -> int:
        """Batches of this rank in an iteration, those before a checkpoint of it included.

        Raises:
            TypeError: It is endless.
        """
        position, done = self._read()
        limit = self._limit(position, done)
        if limit is None:
            raise TypeError("an endless iteration has no length")
        return done + limit

    def begin(self) -> None:
        """Starts an iteration behind the last one; the loader calls it."""
        position, done = self._now()
        if done and self._taken:  # left early
            if self._steps is None and not self._endless:
                position = _begin_of(position, position.epoch + 1)
            done = 0
        self._post(position, done)

    def took(self) -> None:
        """Counts a batch that this rank has got; the loader calls it where there are workers."""
        self._taken += 1

    def set_epoch(self, epoch: int) -> None:
        """Goes to the begin of that epoch; a state within it that was loaded stays."""
        position, _ = self._now()
        if position.epoch != epoch or self._taken:
            self._post(_begin_of(position, epoch), 0)

    def state_dict(self) -> dict[str, Any]:
        """Where this rank is, which is where all are: rank 0's goes into the checkpoint.

        In a worker of torchdata's StatefulDataLoader: where that worker is.
        """
        if get_worker_info() is not None:
            position, done = self._read()
            return {"position": position.as_json(), "done": done, "of_worker": self._taken}
        position, done = self._now()
        return {"position": position.as_json(), "done": done}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where ``state_dict`` was, also with another world or number of workers.

        Raises:
            TrainingError: It is of other data, or none.
        """
        try:
            position, done = from_json(state["position"]), int(state["done"])
        except (KeyError, TypeError, ValueError) as error:
            raise TrainingError(
                f"no state of this data ({error!r}); expected what state_dict() gave"
            ) from error
        self._reader.at(position)  # refuses other data
        self._post(position, done)
        self._loaded = int(state.get("of_worker", 0))

    def _batches(self, worker: int, own: int) -> Iterator[tuple[Any, ...]]:
        """The worker's batches from number ``own`` on; one that it gives is counted."""
        position, done = self._read()
        limit = self._limit(position, done)
        workers = self.division.workers
        mine = None if limit is None else max(0, -(-(limit - worker) // workers))
        end = None if self._endless or self._steps is not None else position.epoch + 1
        if get_worker_info() is not None:
            _seed_worker(self.seed, position, self._reader.rank, worker)
        given = 0
        reader = self._reader.at(position)
        raw = reader.batches(worker=worker, epochs=end, steps=mine)
        try:
            decoded = decoded_batches(
                _behind(raw, own),
                self.form,
                reader.pictures,
                self.seed,
                self._threads,
                self._ahead,
            )
            try:
                for batch, pixels in decoded:
                    given += 1
                    self._taken = own + given
                    tensors: tuple[Any, ...] = (
                        torch.from_numpy(pixels),
                        torch.from_numpy(batch.labels),
                    )
                    if self.division.remainder == PAD:
                        tensors += (torch.from_numpy(batch.weights),)
                    yield tensors
            finally:
                decoded.close()
        except TrainingError as error:
            raise WorkerError(" ".join(str(error).split())) from error
        finally:
            raw.close()

    def _now(self) -> tuple[Position, int]:
        """(position, batches of its iteration before it) behind the last batch that was taken."""
        position, done = self._read()
        if not self._taken:
            return position, done
        limit = self._limit(position, done)
        reader = self._reader.at(position)
        ended = limit is not None and self._taken >= limit
        if ended and self.division.remainder == UNEVEN:  # others may have a batch more
            return _begin_of(position, position.epoch + 1), 0
        return reader.position(self._taken), 0 if ended else done + self._taken

    def _limit(self, position: Position, done: int) -> int | None:
        """Batches of this rank from ``position`` to the iteration's end."""
        if self._steps is not None:
            return max(0, self._steps - done)
        return None if self._endless else self._reader.at(position).steps_in_epoch(position.epoch)

    def _post(self, position: Position, done: int) -> None:
        text = json.dumps({"position": position.as_json(), "done": done}).encode()
        if len(text) + 4 > _LETTER_BYTES:
            raise TrainingError(
                f"a position of {len(text)} bytes: too many restarts within one epoch. Go on from "
                "a checkpoint at an epoch's end."
            )
        whole = len(text).to_bytes(4, "little") + text
        self._letter[: len(whole)] = torch.frombuffer(bytearray(whole), dtype=torch.uint8)
        self._taken = 0

    def _read(self) -> tuple[Position, int]:
        whole = self._letter.numpy()
        length = int.from_bytes(whole[:4].tobytes(), "little")
        about = json.loads(whole[4 : 4 + length].tobytes())
        return from_json(about["position"]), about["done"]


def _begin_of(position: Position, epoch: int) -> Position:
    return replace(position, epoch=epoch, stages=())


def _behind(batches: Any, count: int) -> Iterator[Any]:
    for number, batch in enumerate(batches):
        if number >= count:
            yield batch


def _seed_worker(seed: int, position: Position, rank: int, worker: int) -> None:
    """PyTorch seeds worker N of every rank alike, as its ranks are; here all draw differently."""
    text = f"{seed} {position.epoch} {position.stages} {rank} {worker}"
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)
