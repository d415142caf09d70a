"""The loader around ``PictureBatches``: PyTorch's DataLoader, and where the rank is in the data."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from torch.utils.data import DataLoader

from ..errors import TrainingError
from .decoding_ahead import PictureForm
from .division import DROP, Division
from .parquet_place import open_place
from .pytorch import PictureBatches
from .world import rank_and_world

# A worker that was killed: what PyTorch says, or what the connection for its tensors says first.
_WORKER_LOST = (RuntimeError, ConnectionError, EOFError, FileNotFoundError)


class PictureLoader:
    """Iterates over a rank's batches; knows how many of them the loop has got.

    No DataLoader itself: nothing that replaces samplers of DataLoaders (Lightning, Accelerate)
    touches it. ``with`` or ``close()`` ends its workers; they also end with the rank.
    """

    def __init__(
        self,
        batches: PictureBatches,
        *,
        workers: int = 0,
        prefetch_factor: int = 2,
        context: str | None = None,
        pin_memory: bool = False,
    ) -> None:
        """Makes the DataLoader; its workers start with the first iteration and stay.

        Args:
            batches: Made for as many workers.
            workers: Processes beside the rank; 0 reads and decodes in threads of the rank.
            prefetch_factor: Batches that wait of each worker.
            context: "fork", "spawn" or "forkserver"; PyTorch's own for None.
            pin_memory: As DataLoader's.
        """
        self.batches, self._workers = batches, workers
        options: dict[str, Any] = {"num_workers": workers, "pin_memory": pin_memory}
        if workers:
            options.update(
                prefetch_factor=prefetch_factor,
                multiprocessing_context=context,
                persistent_workers=True,
            )
        self._options = options
        self._loader: Any = None
        self._turn = 0

    def __len__(self) -> int:
        """Batches of this rank in an iteration. Raises TypeError where it is endless."""
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """An iteration; the one before it is over.

        Raises:
            TrainingError: What stopped a worker or this process, one line.
        """
        self._turn += 1
        turn = self._turn
        self.batches.begin()
        if self._loader is None:
            self._loader = DataLoader(
                self.batches, batch_size=None, collate_fn=_as_it_is, **self._options
            )
        try:
            for batch in self._loader:
                if turn != self._turn:
                    raise TrainingError("this iteration is over: another one has begun")
                if self._workers:
                    self.batches.took()
                yield batch
        except TrainingError:
            if turn == self._turn:
                self.close()
            raise
        except _WORKER_LOST as error:
            if isinstance(error, RuntimeError) and "DataLoader worker" not in str(error):
                raise
            # PyTorch raises this at any moment once a worker has died, so once more here.
            try:
                self.close()
            except RuntimeError:
                self.close()
            raise TrainingError(
                f"a worker of the data has ended ({' '.join(str(error).split())[:200]}). Likely it "
                "was out of memory: use fewer workers, or less ahead."
            ) from error

    def __enter__(self) -> PictureLoader:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends the workers; another iteration starts new ones."""
        self._turn += 1
        loader, self._loader = self._loader, None
        # An error that is still looked at keeps the iterator, and so its workers.
        end = getattr(getattr(loader, "_iterator", None), "_shutdown_workers", None)
        if end is not None:
            end()

    def set_epoch(self, epoch: int) -> None:
        """Goes to the begin of that epoch; a state within it that was loaded stays."""
        self.batches.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Behind the last batch that the loop has got, not what is read ahead; for all ranks."""
        return self.batches.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration begins at that very picture; world and workers may be others."""
        self._turn += 1
        self.batches.load_state_dict(state)


def picture_loader(
    place: str,
    *,
    split: str = "train",
    batch_size: int = 64,
    size: tuple[int, int] = (224, 224),
    form: PictureForm | None = None,
    workers: int = 0,
    rank: int | None = None,
    world: int | None = None,
    seed: int = 0,
    shuffle: bool = True,
    remainder: str = DROP,
    drop_last: bool = False,
    endless: bool = False,
    steps: int | None = None,
    threads: int | None = None,
    ahead_bytes: int = 256 << 20,
    context: str | None = None,
    pin_memory: bool = False,
) -> PictureLoader:
    """The loader of a place for this rank.

    Args:
        place: A folder, s3://... or gs://... that ``open_place`` knows.
        split: Which one to read.
        batch_size: Pictures of a batch, of each rank.
        size: (height, width); used where no ``form`` is given.
        form: What is made of a picture.
        workers: Processes beside the rank; 0 uses threads alone.
        rank: Of this process; with ``world`` from torch.distributed or Horovod for None.
        world: Ranks.
        seed: Of every order and of the augmentation.
        shuffle: False reads in the files' order.
        remainder: "drop", "pad" or "uneven".
        drop_last: Leave short batches out.
        endless: Iterate without an end.
        steps: Batches of an iteration, over the borders of epochs.
        threads: That decode, of each process; see ``PictureBatches``.
        ahead_bytes: Of encoded pictures that each process holds, roughly.
        context: How workers start; a place that isn't a folder is read by spawned ones for None,
            as its clients don't outlive a fork.
        pin_memory: As DataLoader's.

    Raises:
        TrainingError: The place, the world or the options can't be used: one line.
    """
    rank, world = rank_and_world(rank, world)
    division = Division(
        ranks=world,
        workers=max(1, workers),
        batch_size=batch_size,
        remainder=remainder,
        short_batches=not drop_last,
        shuffle=shuffle,
    )
    batches = PictureBatches(
        open_place(place, split),
        division,
        form or PictureForm(size=size),
        rank=rank,
        seed=seed,
        endless=endless,
        steps=steps,
        threads=threads,
        ahead_bytes=ahead_bytes,
    )
    if context is None and "://" in place:
        context = "spawn"
    return PictureLoader(batches, workers=workers, context=context, pin_memory=pin_memory)


def _as_it_is(batch: Any) -> Any:
    return batch
