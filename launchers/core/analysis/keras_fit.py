"""Whether a script trains by ``fit()``, as far as its lines show."""

from __future__ import annotations

import ast

from launchers.core.analysis.facts import SourceFacts, Use

# Of Keras's fit() and compile(), and of nobody else's.
_FIT = {
    *("epochs", "steps_per_epoch", "validation_data", "validation_split", "batch_size"),
    *("callbacks", "initial_epoch", "class_weight"),
}
_COMPILE = {"optimizer", "loss", "metrics"}


def trained_by_fit(facts: SourceFacts) -> Use | None:
    """The first call of ``fit()`` on a Keras model, where the script or a file that it reaches
    compiles one too; None where there is none. ``fit()`` of a scaler or a tokenizer is none."""
    calls = [
        (path, one.line, one.call)
        for path in facts.files
        if b".fit" in facts.texts.read(path) or b".compile" in facts.texts.read(path)
        for one in facts.references(path)
        if one.call is not None
    ]
    if not any(_is_of(call, "compile", _COMPILE) for _, _, call in calls):
        return None
    fits = [(path, line) for path, line, call in calls if _is_of(call, "fit", _FIT)]
    return Use(*min(fits), "fit") if fits else None


def _is_of(call: ast.Call, name: str, keywords: set[str]) -> bool:
    """Whether it is a call of that method, with a keyword that Keras's alone has or on something
    that is called a model."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != name:
        return False
    if any(keyword.arg in keywords for keyword in call.keywords):
        return True
    return "model" in ast.unparse(call.func.value).lower()
