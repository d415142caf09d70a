"""One rank that trains on a GPU in bfloat16, or only brings the pictures there: pictures a second.

``--from launch`` reads a place by picture_loader, ``--from folder`` class folders by torchvision's
ImageFolder and PyTorch's DataLoader, ``--from gpu`` one batch that lies there already. Pictures
travel as uint8 and become numbers on the GPU. Says one JSON line.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch
import torchvision

Batch = tuple[torch.Tensor, torch.Tensor]


def main() -> None:
    """Train, count, say it."""
    asked = _arguments()
    step = _step(asked)
    batches = iter(_on_gpu(asked))
    for _ in range(asked.warm):  # the first choose kernels and fill what is read ahead
        step(*next(batches))
    torch.cuda.synchronize()
    rows, cpu, begin = 0, _cpu(), time.perf_counter()
    while time.perf_counter() - begin < asked.seconds:
        images, labels = next(batches)
        step(images, labels)
        rows += len(labels)
    torch.cuda.synchronize()
    wall = time.perf_counter() - begin
    print(json.dumps({"rate": rows / wall, "cpu": 1000 * (_cpu() - cpu) / rows}), flush=True)
    os._exit(0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("place")
    parser.add_argument("--from", dest="origin", choices=["launch", "folder", "gpu"])
    parser.add_argument("--model", help="of torchvision.models; none: the pictures alone")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--warm", type=int, default=12, help="steps")
    parser.add_argument("--seconds", type=float, default=5.0)
    return parser.parse_args()


def _step(asked: argparse.Namespace) -> Any:
    if asked.model == "none":
        return lambda images, labels: None
    model = getattr(torchvision.models, asked.model)(num_classes=10)
    model = model.cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(images: torch.Tensor, labels: torch.Tensor) -> None:
        pixels = images.to(torch.bfloat16, memory_format=torch.channels_last).div_(255)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(pixels), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def _on_gpu(asked: argparse.Namespace) -> Iterator[Batch]:
    for images, labels in _batches(asked):
        yield images.cuda(non_blocking=True), labels.cuda(non_blocking=True)


def _batches(asked: argparse.Namespace) -> Iterable[Any]:
    size = (asked.side, asked.side)
    if asked.origin == "gpu":
        images = torch.randint(0, 256, (asked.batch, 3, *size), dtype=torch.uint8, device="cuda")
        labels = torch.randint(0, 10, (asked.batch,), device="cuda")
        return itertools.repeat((images, labels))
    if asked.origin == "launch":
        from lib.data.decoding_ahead import PictureForm
        from lib.data.pytorch_loader import picture_loader

        return picture_loader(
            asked.place,
            batch_size=asked.batch,
            form=PictureForm(size=size, dtype="uint8"),
            workers=asked.workers,
            rank=0,
            world=1,
            endless=True,
            pin_memory=True,
        )
    transforms = torchvision.transforms
    pixels = transforms.Compose([transforms.Resize(size), transforms.PILToTensor()])
    loader = torch.utils.data.DataLoader(
        torchvision.datasets.ImageFolder(asked.place, pixels),
        batch_size=asked.batch,
        shuffle=True,
        num_workers=asked.workers,
        persistent_workers=True,
        pin_memory=True,
        drop_last=True,
    )
    return itertools.chain.from_iterable(itertools.repeat(loader))


def _cpu() -> float:
    """Seconds of this process and of those that have ended; of living workers by /proc."""
    own = time.process_time()
    children = sum(map(_of_process, _children(os.getpid())))
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own + children + ended.ru_utime + ended.ru_stime


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def _of_process(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
