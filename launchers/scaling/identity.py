"""By what a study is known: its name, what it was asked for, and the digest of its source."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex

from launchers.core.provider import Provider
from launchers.core.source.script import JobSource
from launchers.core.spec.job import JobSpec, base_name
from launchers.core.spec.option import default_of, option_fields
from launchers.scaling.arguments import BATCH, TOTAL
from launchers.scaling.jobs import SIZES
from launchers.scaling.planned import Wanted
from launchers.scaling.records import ARGUMENTS

# What makes the runs no others: who is told, and what was allowed to pass.
_NOT_COMPARED = frozenset({"notify", "allow_values", *SIZES})


def settings_of(
    provider: Provider, job: JobSpec, wanted: Wanted, source: JobSource
) -> dict[str, str]:
    """What was asked for, flag by flag, whoever gave it; defaults left out."""
    grid = wanted.grid
    found = {"provider": provider.name}
    for name in SIZES:
        # In whatever order they are typed, the smallest is run first.
        values = sorted(getattr(grid, name)) or tuple(filter(None, [getattr(job, name)]))
        if values:
            found[f"--{name}"] = ",".join(map(str, values))
    found["--repeat"] = str(grid.repeat)
    for name, values in grid.compared:
        found[f"--compare {name}"] = ",".join(values)
    found["--batch"] = wanted.batch
    if wanted.batch == TOTAL and wanted.batch_argument != BATCH:
        found["--batch-argument"] = wanted.batch_argument
    if wanted.seed_argument:
        found["--seed-argument"] = wanted.seed_argument
    found["SCRIPT"] = os.path.join(source.folder, " ".join(source.program))
    found[ARGUMENTS] = shlex.join(job.arguments)
    for holder in (job, job.options):
        for item, _ in option_fields(type(holder)):
            value = getattr(holder, item.name)
            told = item.name in _NOT_COMPARED or not item.metadata["flags"]
            if not told and value != default_of(item):
                flag = next(one for one in item.metadata["flags"] if one.startswith("--"))
                found[flag] = json.dumps(value, default=str, sort_keys=True)
    return found


def study_name(job: JobSpec, settings: dict[str, str], source: JobSource) -> str:
    """``train-1a2b3c4d``: letters that a label takes as well."""
    told = json.dumps([settings, source_digest(source)], sort_keys=True)
    digest = hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    base = re.sub(r"[^a-z0-9]+", "-", base_name(job).lower()).strip("-")[:40] or "job"
    return f"{base}-{digest}"


def source_digest(source: JobSource) -> str:
    """Of the Python files that travel: what a run writes into its folder changes none of them."""
    texts = source.bundle.texts
    digest = hashlib.sha256()
    for path in sorted(path for path in texts.paths if path.endswith(".py")):
        digest.update(f"{path}\0".encode("utf-8", "surrogateescape"))
        digest.update(hashlib.sha256(texts.read(path)).digest())
    return digest.hexdigest()
