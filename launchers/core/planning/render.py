"""From a plan to the provider's document: strict Jinja2, then parsed again.

An undefined name is an error, every value passes through ``tojson``, and what comes out must be
JSON; so no value of a user's can change the document's shape.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from launchers.core.model.document import document_text
from launchers.core.model.jobs import JobDefinition
from launchers.core.paths import templates_folder
from launchers.core.planning.plan import Plan
from launchers.core.strategies import VARIABLE


def render(
    provider: str,
    template: str,
    plan: Plan,
    nulls: bool = False,
    amended: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None,
) -> JobDefinition:
    """The document that ``templates/<provider>/<template>`` makes of ``plan``.

    A template is the shape of the whole document; a field for which the plan says None is left
    out, unless the document says ``nulls``.

    The text is the parsed document printed again with two spaces of indentation in the
    template's own order, so that a template's blanks and commas never reach the bytes.

    Args:
        amended: What else the job says of the document.

    Raises:
        jinja2.UndefinedError, json.JSONDecodeError: The template is wrong (a defect of ours).
    """
    rendered = _template(provider, template).render(plan=plan, job=plan.job)
    document = json.loads(rendered, object_pairs_hook=dict if nulls else _without_nulls)
    if amended is not None:
        document = amended(document)
    return JobDefinition(
        provider=provider,
        name=plan.name,
        world_size=plan.world_size,
        text=document_text(document),
        document=document,
        placeholders=plan.placeholders,
        destination=plan.destination,
        allowed=plan.job.allow_values,
        strategy=plan.environment.get(VARIABLE, ""),
    )


def _without_nulls(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value for key, value in pairs if value is not None}


@lru_cache(maxsize=8)
def _template(provider: str, template: str) -> Any:
    source = (templates_folder() / provider / template).read_text(encoding="utf-8")
    return _environment().from_string(source)


def _environment() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    environment.filters["tojson"] = _to_json
    environment.finalize = _only_json
    return environment


def _to_json(value: Any) -> str:
    from jinja2 import Undefined

    if isinstance(value, Undefined):
        str(value)  # raises UndefinedError, which names what is undefined
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _only_json(value: Any) -> Any:
    # Jinja2 calls this on what an expression gives. tojson gives str; a number or None that was
    # printed without it would be a template that forgot the filter.
    if not isinstance(value, str):
        raise TypeError(f"a template printed {type(value).__name__} without | tojson")
    return value
