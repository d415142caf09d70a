"""A trained PyTorch model as one file that loads without this code: ``torch.jit.load``."""

from __future__ import annotations

import copy
import io
from typing import Any, Sequence

import torch

from .. import storage

FILE = "model.pt"


def export(model: Any, shape: Sequence[int], folder: str) -> str:
    """Writes ``model`` into ``folder`` as one file, whole or not at all, and gives its path.

    It takes (n, channels, rows, columns) pixels as they are stored and gives (n, classes)
    probabilities, on the CPU.

    Args:
        model: Gives logits.
        shape: (rows, columns, channels) of an image.
        folder: A folder or an address that can be written.

    Raises:
        OSError: The disk is full or the folder cannot be written.
    """
    whole = torch.nn.Sequential(copy.deepcopy(model), torch.nn.Softmax(dim=1)).cpu().eval()
    rows, columns, channels = shape
    content = io.BytesIO()
    with torch.no_grad():
        traced = torch.jit.trace(whole, torch.zeros(2, channels, rows, columns))
        torch.jit.save(traced, content)
    path = storage.join(folder, FILE)
    storage.write_whole(path, content.getvalue())
    return path
