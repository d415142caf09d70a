"""Every rule that a CustomJob must keep, ours or anybody's. Pure.

The shape comes first (service_model.py), then what the service says only in its documentation,
then what makes a Horovod job really distributed. All problems are reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from launchers.core.model.problems import Problem
from launchers.core.rules.model_check import one_a_number
from launchers.vertex.catalogue import RULES
from launchers.vertex.rules import service_model, spelling
from launchers.vertex.rules.environment import check_environment
from launchers.vertex.rules.fields import check_field_locations, check_fields
from launchers.vertex.rules.image import check_image
from launchers.vertex.rules.machines import check_machines
from launchers.vertex.rules.partitions import check_partitions
from launchers.vertex.rules.pools import carries_world_size, pools
from launchers.vertex.rules.scheduling import check_reservation_location, check_scheduling
from launchers.vertex.rules.start import check_start
from launchers.vertex.rules.starts import carried_strategy, meant_for_horovod
from launchers.vertex.rules.starts import carried_world_size as carried_world_size
from launchers.vertex.rules.starts import plain_program_of as plain_program_of
from launchers.vertex.rules.starts import program_of as program_of
from launchers.vertex.rules.starts import world as world
from launchers.vertex.rules.world_size import check_world_size

_SPEC_SIGNS = ("workerPoolSpecs", "worker_pool_specs")
_JOB_SIGNS = ("jobSpec", "job_spec")


def check(
    document: Mapping[str, Any],
    world_size: int | None = None,
    allowed_values: frozenset[str] = frozenset(),
) -> list[Problem]:
    """Every rule that ``document`` breaks, each with its path in the document.

    Args:
        document: A CustomJob, as :func:`as_custom_job` gives it.
        world_size: What the caller expects, where it says so (``--world-size``).
        allowed_values: Names whose values may look like credentials (``--allow-value``).

    A rule about our own way of starting is an error in a document that carries
    LAUNCH_WORLD_SIZE, and a warning in any other.
    """
    ours = carries_world_size(document)
    problems = service_model.MODEL.check(document)
    problems += check_fields(document)
    problems += check_machines(document, ours)
    problems += check_partitions(document)
    problems += check_scheduling(document, ours)
    images: set[str] = set()
    for pool in pools(document):
        if pool.image in images:
            continue
        images.add(pool.image)
        ours_with_horovod = ours and not carried_strategy(document)
        meant = pool.holds_ranks and (ours_with_horovod or meant_for_horovod(pool))
        problems += check_image(pool, horovod_is_meant=meant)
    problems += check_world_size(document, world_size, ours)
    problems += check_start(document, ours)
    problems += check_environment(document, ours, allowed_values)
    return one_a_number(dict.fromkeys(problems))  # Two pools may break a rule at one place.


def check_location(document: Mapping[str, Any], location: str) -> list[Problem]:
    """Resources that the document names in another place than the job's. Pure.

    Args:
        location: Where the job is sent, ``us-central1``; the document does not say so itself.
    """
    return [
        *check_field_locations(document, location),
        *check_reservation_location(document, location),
    ]


def as_custom_job(document: Mapping[str, Any]) -> dict[str, Any]:
    """A CustomJob of what another tool would send. Pure.

    * ``gcloud ai custom-jobs create --config`` reads a file with the jobSpec's content at its top:
      it is put under ``jobSpec``, and a single entry where a list belongs is a list of one. Name
      and labels are flags of gcloud, so a name that the file cannot hold stands for them.
    * The official client sends the numbers of enumerations: they get their names.
    * Keys spelt as in the Python client get their JSON names, and a field that is null is not
      there, as the service reads them.
    """
    return spelling.with_names(_wrapped(document))


def is_job_spec(document: Mapping[str, Any]) -> bool:
    """Whether it is the content of a jobSpec, as gcloud's ``--config`` has it. Pure."""
    has_pools = any(key in document for key in _SPEC_SIGNS)
    return has_pools and not any(key in document for key in _JOB_SIGNS)


def check_as_given(document: Mapping[str, Any], world_size: int | None = None) -> list[Problem]:
    """:func:`check` of what another tool would send, with paths as they are in ``document``. Pure.

    Keys spelt as in the Python client are read as their JSON names, with a warning.
    """
    found = _spelling(document) + check(as_custom_job(document), world_size)
    return [replace(one, path=_path_in(document, one.path)) for one in found]


def _path_in(document: Mapping[str, Any], path: str) -> str:
    """A path of the CustomJob as it is in ``document``; a flag stays as it is."""
    if not path.startswith("$"):
        return path
    if not is_job_spec(document):
        return spelling.as_spelt(path, document)
    spelt = spelling.as_spelt(path, {"jobSpec": document})
    return re.sub(r"^\$\.jobSpec\b", "$", spelt)


def _spelling(document: Mapping[str, Any]) -> list[Problem]:
    places = spelling.python_names(_wrapped(document))
    if not places:
        return []
    found = "as the Python client spells it" + (", as are others" if len(places) > 1 else "")
    return [RULES["python-names"].at(places[0], found)]


def _wrapped(document: Mapping[str, Any]) -> dict[str, Any]:
    if is_job_spec(document):
        return spelling.with_lists({"displayName": "custom-job", "jobSpec": document})
    return dict(document)


def recognises(document: Mapping[str, Any]) -> bool:
    """Whether it is a CustomJob or the content of one, right or wrong. Pure."""
    return any(key in document for key in (*_JOB_SIGNS, *_SPEC_SIGNS))
