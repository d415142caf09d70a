"""What PyTorch's loaders give in each case, as JSON; the tests beside judge it. No test itself.

Run by an interpreter that has PyTorch: torch_cases.py PLACE BROKEN NAME...
"""

from __future__ import annotations

import gc
import itertools
import json
import multiprocessing
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from lib.data.decoding_ahead import PictureForm
from lib.data.division import Division
from lib.data.parquet_place import open_place
from lib.data.pytorch import PictureBatches
from lib.data.pytorch_loader import PictureLoader, picture_loader
from lib.errors import TrainingError
from PIL import Image
from torch.utils.data import DataLoader

PLACE, BROKEN = sys.argv[1:3]


def loader(place: str = PLACE, **options: Any) -> PictureLoader:
    return picture_loader(place, **{"batch_size": 4, "size": (8, 8), "seed": 5, **options})


def read(one: PictureLoader, count: int | None = None) -> list[list[int]]:
    """The labels, which name the pictures, of ``count`` batches; -1 is a repeated picture."""
    return [labels(batch) for batch in itertools.islice(iter(one), count)]


def labels(batch: tuple[Any, ...]) -> list[int]:
    found: list[int] = batch[1].tolist()
    return (
        [n if w else -1 for n, w in zip(found, batch[2], strict=False)] if len(batch) > 2 else found
    )


def epochs() -> Any:
    """By remainder and number of workers: two epochs of two ranks."""
    found = {}
    for remainder, workers in itertools.product(("drop", "pad", "uneven"), (0, 2)):
        ranks = []
        for rank in range(2):
            with loader(rank=rank, world=2, workers=workers, remainder=remainder) as one:
                ranks.append({"lengths": [len(one)], "epochs": [read(one), read(one)]})
        found[f"{remainder} {workers}"] = ranks
    return found


def resumed() -> Any:
    """Two ranks of two workers leave after 3 steps; other worlds go on with rank 0's state."""
    first = [loader(rank=rank, world=2, workers=2, remainder="pad") for rank in range(2)]
    before, states = [], []
    for one in first:
        batches = iter(one)
        before.append([labels(next(batches)) for _ in range(3)])
        states.append(json.dumps(one.state_dict()))
        after = [labels(batch) for batch in batches]
        one.close()
    found = {"before": before, "states": states, "uninterrupted": after, "others": {}}
    for world, workers in ((2, 2), (3, 0), (1, 3)):
        ranks = []
        for rank in range(world):
            with loader(rank=rank, world=world, workers=workers, remainder="pad") as one:
                one.load_state_dict(json.loads(states[0]))
                length = len(one)
                ranks.append({"length": length, "rest": read(one), "next": read(one)})
        found["others"][f"{world} {workers}"] = ranks
    return found


def fixed_steps() -> Any:
    """Iterations of 5 steps over epochs of more; the third one is left early and gone on with."""
    found = {}
    for workers in (0, 2):
        with (
            loader(rank=0, world=2, workers=workers, steps=5) as one,
            loader(rank=0, world=2, workers=workers, endless=True) as other,
        ):
            cut = [read(one), read(one), read(one, 2), read(one)]
            found[str(workers)] = {"cut": cut, "endless": read(other, 17), "length": len(one)}
    return found


def endless_length() -> Any:
    return message(lambda: len(loader(endless=True)), TypeError)


def left_early() -> Any:
    """An epoch that is left, the whole one after it; the same by set_epoch."""
    found = {}
    for workers in (0, 2):
        with loader(workers=workers) as one:
            read(one, 2)
            whole = read(one)
            one.set_epoch(1)
            found[str(workers)] = {"whole": whole, "again": read(one), "first": (read_anew(one, 0))}
    return found


def read_anew(one: PictureLoader, epoch: int) -> list[list[int]]:
    one.set_epoch(epoch)
    return read(one)


def pixels() -> Any:
    """Whether pixels are Pillow's, by form."""
    stored = loader(size=(20, 30), form=PictureForm(size=(20, 30), dtype="uint8"), shuffle=False)
    mean, deviation = (0.4, 0.5, 0.6), (0.2, 0.3, 0.4)
    forms = {
        "stored": PictureForm(size=(20, 30), dtype="uint8"),
        "float": PictureForm(size=(8, 10)),
        "grey": PictureForm(size=(8, 8), channels=1, fit="crop"),
        "normal": PictureForm(size=(8, 8), mean=mean, deviation=deviation),
    }
    originals = [np.asarray(i.permute(1, 2, 0)) for batch, _ in stored for i in batch]
    found = {}
    for name, form in forms.items():
        given = torch.cat([batch for batch, _ in loader(form=form, shuffle=False)])
        wanted = torch.stack([by_pillow(original, form) for original in originals])
        wanted = wanted if form.dtype == "uint8" else wanted / 255
        if form.mean:
            shape = (3, 1, 1)
            wanted = (wanted - torch.tensor(mean).view(shape)) / torch.tensor(deviation).view(shape)
        found[name] = [str(given.dtype), list(given.shape), float((given - wanted).abs().max())]
    first = np.asarray(Image.open(os.path.join(PLACE, "first.png")))
    found["first"] = bool((originals[0] == first).all())
    return found


def by_pillow(original: Any, form: PictureForm) -> Any:
    image, (height, width) = Image.fromarray(original), form.size
    if form.fit == "crop":  # the pictures are wide, the form is square
        left = (image.width - image.height) / 2
        box = (left, 0, left + image.height, image.height)
        image = image.resize((width, height), Image.Resampling.BILINEAR, box=box)
    else:
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    found = torch.from_numpy(np.array(image.convert("L" if form.channels == 1 else "RGB")))
    return found[None] if form.channels == 1 else found.permute(2, 0, 1)


def augmented() -> Any:
    """Pictures by label, in two epochs, with another number of workers and of ranks."""
    form = PictureForm(size=(8, 8), augment=("crop", "flip", "rotate", "color"))
    found = []
    for workers, world in ((0, 1), (2, 2)):
        whole: list[dict[int, Any]] = [{}, {}]
        for rank in range(world):
            with loader(form=form, workers=workers, rank=rank, world=world) as one:
                for epoch in whole:
                    epoch.update({int(n): i.numpy() for b in one for i, n in zip(*b, strict=False)})
        found.append(whole)
    (first, second), (elsewhere, _) = found
    same = [bool((first[n] == elsewhere[n]).all()) for n in sorted(set(first) & set(elsewhere))]
    other = [bool((first[n] != second[n]).any()) for n in sorted(set(first) & set(second))]
    return {"same": same, "other": other}


def painted(image: Any, source: Any) -> Any:
    """Its colour says which process painted it, and a random number of that process."""
    number = int(torch.randint(256, ()))
    return Image.new("RGB", image.size, (os.getpid() >> 8 & 255, os.getpid() & 255, number))


def workers_of() -> Any:
    """The colours that workers paint: (process, process, random number), by rank and epoch."""
    form = PictureForm(size=(8, 8), dtype="uint8", transform=painted)
    found = []
    for rank in range(2):
        with loader(form=form, workers=2, rank=rank, world=2, threads=1) as one:
            found.append([[b[0][0, :, 0, 0].tolist() for b in one] for _ in range(2)])
    return found


def corrupt() -> Any:
    """What is raised for a corrupt picture, by number of workers, and how many are left then."""
    found = {}
    for workers in (0, 2):
        one = loader(BROKEN, workers=workers)
        found[str(workers)] = message(lambda one=one: read(one))
        found[f"left {workers}"] = len(multiprocessing.active_children())
    batches = PictureBatches(open_place(BROKEN), Division(batch_size=4), PictureForm(size=(8, 8)))
    found["bare"] = message(lambda: list(DataLoader(batches, batch_size=None, num_workers=1)))
    gc.collect()  # else the bare DataLoader, held by its error, is there in the next cases
    return found


def killed() -> Any:
    """What is raised once a worker was killed."""
    others = multiprocessing.active_children()
    one = loader(workers=2, endless=True)
    batches = iter(one)
    next(batches)
    worker = next(one for one in multiprocessing.active_children() if one not in others)
    os.kill(worker.pid or 0, 9)
    return message(lambda: sum(1 for _ in batches))


def ended_early() -> Any:
    """Its workers before a loop that was left and its loader closed, and after."""
    others = multiprocessing.active_children()  # of an earlier case, which may be still ending
    with loader(workers=2) as one:
        read(one, 1)
        before = _without(others)
    return [before, _without(others)]


def _without(others: list[Any]) -> int:
    return len([one for one in multiprocessing.active_children() if one not in others])


def left_open() -> Any:
    """The program's end must end these."""
    others = multiprocessing.active_children()
    globals()["kept"] = one = loader(workers=2, endless=True)
    globals()["kept_batches"] = batches = iter(one)
    next(batches)
    return _without(others)


def refused() -> Any:
    bare = PictureBatches(open_place(PLACE), Division(workers=2, batch_size=4))
    wrong = loader().state_dict()
    wrong["position"]["rows"] += 1
    return {
        "uneven steps": message(lambda: loader(remainder="uneven", steps=3)),
        "workers": message(lambda: next(iter(DataLoader(bare, batch_size=None)))),
        "other data": message(lambda: loader().load_state_dict(wrong)),
        "no state": message(lambda: loader().load_state_dict({"epoch": 3})),
        "dtype": message(lambda: PictureForm(dtype="float16")),
        "rank alone": message(lambda: loader(rank=0)),
        "not joined": message(not_joined),
    }


def not_joined() -> None:
    os.environ["LAUNCH_WORLD_SIZE"] = "2"
    try:
        loader()
    finally:
        del os.environ["LAUNCH_WORLD_SIZE"]


def spawned() -> Any:
    """Workers that do not share what this process has."""
    with loader(workers=2, context="spawn", remainder="uneven") as one:
        return sorted(itertools.chain(*read(one)))


def message(attempt: Callable[[], Any], kind: type = TrainingError) -> str:
    try:
        attempt()
    except kind as error:
        return str(error)
    return "nothing was raised"


if __name__ == "__main__":
    print(json.dumps({name: globals()[name]() for name in sys.argv[3:]}))
