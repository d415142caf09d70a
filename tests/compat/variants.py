"""Takes the wrapping or the broadcast out of a script, by its syntax tree.

Only the calls in question change; every other byte stays as its authors wrote it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

WRAPPERS = (
    "DistributedOptimizer",
    "DistributedGradientTape",
    "DistributedAdasumOptimizer",
    "PartialDistributedOptimizer",
    "PartialDistributedGradientTape",
)
BROADCASTS = (
    "broadcast_variables",
    "broadcast_global_variables",
    "broadcast_parameters",
    "broadcast_optimizer_state",
)
BROADCAST_CALLBACK = "BroadcastGlobalVariablesCallback"
# A callback that does nothing, of whatever Keras TensorFlow gives this script.
_NO_CALLBACK = '__import__("tensorflow").keras.callbacks.Callback()'


def without_wrapping(source: str) -> str:
    """``source`` with every wrapped optimizer or tape given as it was before the wrapping."""
    return _with_calls(source, _unwrapped)


def without_broadcast(source: str) -> str:
    """``source`` with no broadcast of weights; a broadcast of anything else stays."""
    return _with_calls(source, _not_broadcast)


def edited(source: str, replace: Mapping[str, str], drop: Sequence[str]) -> str:
    """``source`` with the literal texts of ``replace`` exchanged and the lines of ``drop`` gone.

    Texts of ``replace`` that do not occur stay without effect: a script of several files is
    edited file by file, and the caller asks whether each text was found in one of them.
    """
    lines = [line for line in source.splitlines(True) if not any(text in line for text in drop)]
    source = "".join(lines)
    for old, new in replace.items():
        source = source.replace(old, new)
    return source


def _unwrapped(call: ast.Call, text: Callable[[ast.AST], str]) -> str | None:
    if _name(call) not in WRAPPERS:
        return None
    named = [word.value for word in call.keywords if word.arg in ("optimizer", "gradtape", "tape")]
    inner = call.args[0] if call.args else named[0]
    return text(inner)


def _not_broadcast(call: ast.Call, text: Callable[[ast.AST], str]) -> str | None:
    if _name(call) in BROADCASTS:
        return "None"
    return _NO_CALLBACK if _name(call) == BROADCAST_CALLBACK else None


def _name(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _with_calls(source: str, change: Callable[..., str | None]) -> str:
    """``source`` where each call for which ``change`` gives a text is replaced by it."""
    # The tree counts columns in UTF-8 bytes.
    lines = [line.encode() for line in source.splitlines(True)]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    whole = b"".join(lines)

    def span(node: ast.AST) -> tuple[int, int]:
        at = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return at, end

    def text(node: ast.AST) -> str:
        at, end = span(node)
        return whole[at:end].decode()

    changes = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            new = change(node, text)
            if new is not None:
                changes.append((*span(node), new))
    for at, end, new in sorted(changes, reverse=True):
        whole = whole[:at] + new.encode() + whole[end:]
    return whole.decode()
