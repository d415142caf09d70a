"""Decodes batches of encoded pictures in parallel threads, some batches ahead: NumPy and Pillow,
or torchvision where PyTorch is loaded.

Both let other threads run while they decode; Pillow for each picture often, so that processes are
faster than more than some five of its threads.
"""

from __future__ import annotations

import contextlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Callable, Generator, Iterable, Iterator, Protocol, Sequence

import numpy as np

from ..arrays import Array
from ..errors import TrainingError
from ..pictures import augmenting, decoding, resizing, torch_decoding
from ..pictures.headers import BadPictureError
from .reader import Batch

_AT_ONCE = 8  # pictures that are one call of PyTorch's
MODES = {1: "L", 3: "RGB"}
CONVERT = "Convert the pictures anew with --bad-images skip."


class Named(Protocol):
    """Pictures that have names, as ``parquet_place.Pictures``."""

    def path_of(self, row: int) -> str:
        """Where a picture lies, for people."""


@dataclass(frozen=True)
class PictureForm:
    """What is made of an encoded picture.

    Attributes:
        size: (height, width).
        channels: 3, or 1 for grey.
        fit: How a picture comes to ``size``: "stretch", "crop" or "pad".
        dtype: "float32", values 0 to 1 (or as ``mean`` and ``deviation`` make them), or "uint8".
        mean: Of each channel, taken from values of 0 to 1; float32 alone.
        deviation: Of each channel, by which that is divided.
        augment: Of crop, flip, rotate, color: drawn anew for each picture in each epoch by
            seed, row and epoch, whatever the ranks and workers.
        scaled_decoding: Decode a JPEG of at least twice the wanted size at a half, a quarter or an
            eighth of its own: faster, the pixels differ a little.
        transform: Called with the Pillow image at ``size`` and a ``random.Random`` of its own,
            after ``augment``; gives an image of that size. Runs in several threads at once.
    """

    size: tuple[int, int] = (224, 224)
    channels: int = 3
    fit: str = "stretch"
    dtype: str = "float32"
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()
    augment: tuple[str, ...] = ()
    scaled_decoding: bool = False
    transform: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        expected = (
            (self.channels in MODES, f"channels {self.channels}: expected 1 or 3"),
            (min(self.size) > 0, f"size {self.size}: expected (height, width) in pixels"),
            (self.fit in resizing.FITS, f"fit {self.fit}: expected of {', '.join(resizing.FITS)}"),
            (
                set(self.augment) <= set(augmenting.KINDS),
                f"augment {','.join(self.augment)}: expected of {', '.join(augmenting.KINDS)}",
            ),
            (self.dtype in ("float32", "uint8"), f"dtype {self.dtype}: expected float32 or uint8"),
            (
                len(self.mean) == len(self.deviation) and len(self.mean) in (0, self.channels),
                f"mean {self.mean} and deviation {self.deviation}: expected one a channel each",
            ),
            (
                not self.mean or self.dtype == "float32",
                "mean and deviation: expected with float32 alone",
            ),
        )
        for holds, problem in expected:
            if not holds:
                raise TrainingError(problem)

    def image(self, content: bytes, row: int, epoch: int, seed: int) -> Any:
        """The Pillow image of mode "L" or "RGB" at ``size``.

        Raises:
            BadPictureError: It can't be decoded.
        """
        wanted = (self.size[1], self.size[0])
        header = decoding.looked_at(content)
        reduced = wanted if self.scaled_decoding else None
        image = decoding.decoded(content, header, reduced, self.fit)
        source = augmenting.draws(seed, str(row), epoch) if self.drawn else None
        if source is not None and self.augment:
            image = augmenting.augmented(image, self.augment, source, wanted, self.fit)
        elif image.size != wanted:
            image = resizing.resized(image, wanted, self.fit)
        if image.mode != MODES[self.channels]:
            image = image.convert(MODES[self.channels])
        return image if self.transform is None else self.transform(image, source)

    @property
    def drawn(self) -> bool:
        """Whether a picture is another one in each epoch."""
        return bool(self.augment) or self.transform is not None

    def by_torch(self, contents: Sequence[bytes]) -> Sequence[Array | None]:
        """Pixels (channels, height, width) of 0 to 255 of each encoded picture, from torchvision;
        None where it isn't there, or does not do the same as Pillow."""
        decoder = None
        if self.channels == 3 and not self.drawn and not self.scaled_decoding:
            decoder = torch_decoding.decoder()
        if decoder is None:
            return [None] * len(contents)
        return decoder.pixels(contents, (self.size[1], self.size[0]), self.fit)

    def by_pillow(self, content: bytes, row: int, epoch: int, seed: int) -> Array:
        """The same of one picture, from :meth:`image`.

        Raises:
            BadPictureError: It can't be decoded.
        """
        pixels = np.asarray(self.image(content, row, epoch, seed))
        pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
        return pixels.transpose(2, 0, 1)

    def put(self, place: Array, pixels: Array) -> None:
        """Writes such pixels into ``place`` as ``dtype``.

        Raises:
            BadPictureError: ``transform`` gave an image of another size or mode.
        """
        if pixels.shape != place.shape:
            raise BadPictureError(f"transform gave {pixels.shape}, expected {place.shape}")
        if self.dtype == "uint8":
            place[...] = pixels
            return
        np.divide(pixels, np.float32(255), out=place, casting="unsafe")
        if self.mean:
            place -= np.array(self.mean, np.float32)[:, None, None]
            place /= np.array(self.deviation, np.float32)[:, None, None]


def decoded_batches(
    batches: Iterable[Batch],
    form: PictureForm,
    pictures: Named,
    seed: int,
    threads: int = 2,
    ahead: int = 2,
    read: Callable[[Any], bytes] | None = None,
    mend: str = CONVERT,
) -> Generator[tuple[Batch, Array], None, None]:
    """Each batch with its pixels, (n, channels, height, width), in the order of ``batches``.

    Blocks while pictures are decoded. Close the generator to end its threads.

    Args:
        batches: Of a reader.
        form: What is made of each picture.
        pictures: For a bad picture's name.
        seed: Of the augmentation.
        threads: That decode.
        ahead: Batches that are decoded or being decoded beside the one that is given.
        read: Gives a picture's bytes from its content; None where that is the bytes.
        mend: What to do about a bad picture, a sentence.

    Raises:
        TrainingError: A picture can't be decoded: its path and why.
    """
    torch_decoding.decoder()
    waiting: deque[tuple[Batch, Array, list[Future[None]]]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="decode") as pool:
        try:
            for batch in batches:
                pixels, part = _part_of(batch, form, pictures, seed, read, mend)
                waiting.append((batch, pixels, _started(pool, len(pixels), part, threads)))
                if len(waiting) > ahead:
                    yield _finished(*waiting.popleft())
            while waiting:
                yield _finished(*waiting.popleft())
        finally:
            for _, _, parts in waiting:
                for future in parts:
                    future.cancel()


def _part_of(
    batch: Batch,
    form: PictureForm,
    pictures: Named,
    seed: int,
    read: Callable[[Any], bytes] | None,
    mend: str,
) -> tuple[Array, Callable[[int, int], None]]:
    """Room for the batch's pixels, and what decodes some of its pictures into it."""
    pixels = np.empty((len(batch.labels), form.channels, *form.size), form.dtype)

    @contextlib.contextmanager
    def named(row: int) -> Iterator[None]:
        try:
            yield
        except (BadPictureError, OSError) as error:
            raise TrainingError(f"{pictures.path_of(row)}: {error}. {mend}") from error

    def some(numbers: range) -> None:
        rows, contents = [int(batch.rows[at]) for at in numbers], []
        for at, row in zip(numbers, rows):
            with named(row):
                contents.append(batch.content[at] if read is None else read(batch.content[at]))
        found = form.by_torch(contents)
        for at, row, content, ready in zip(numbers, rows, contents, found):
            with named(row):
                if ready is None:
                    ready = form.by_pillow(content, row, batch.epoch, seed)
                form.put(pixels[at], ready)

    def part(first: int, end: int) -> None:
        for at in range(first, end, _AT_ONCE):
            some(range(at, min(end, at + _AT_ONCE)))

    return pixels, part


def _started(
    pool: ThreadPoolExecutor, count: int, part: Callable[[int, int], None], threads: int
) -> list[Future[None]]:
    # Some more parts than threads, so that none of them waits for a slow one at the end.
    step = max(1, -(-count // (2 * threads)))
    return [pool.submit(part, first, min(count, first + step)) for first in range(0, count, step)]


def _finished(batch: Batch, pixels: Array, parts: list[Future[None]]) -> tuple[Batch, Array]:
    for part in parts:
        part.result()
    return batch, pixels
