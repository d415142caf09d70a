"""Hooks that torch.compile doesn't see: what it traces runs as if no hook were there."""

from __future__ import annotations

import functools
import sys
from importlib.util import find_spec
from typing import Any


def untraced(original: Any, watched: Any) -> Any:
    """``watched`` in the place of ``original``; ``original`` alone where torch.compile traces.

    What is traced here must use no name of this module: the tracer would import it to look it up,
    and the script's process doesn't find our modules. Before 2.1 nothing tells whether
    torch.compile traces, and it is asked to leave the call alone.
    """
    torch = sys.modules["torch"]
    if find_spec("torch.compiler") is None:
        watched._torchdynamo_disable = True
        return functools.wraps(original)(watched)

    @functools.wraps(original)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return original(*args, **kwargs)
        return watched(*args, **kwargs)

    return chosen
