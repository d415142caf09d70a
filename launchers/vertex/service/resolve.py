"""Project, location and bucket of a submission: what the job, the environment and gcloud's
configuration do not say is asked of the credentials. The one online step before the document."""

from __future__ import annotations

import re
from dataclasses import replace

from launchers.core.model.jobs import JobHandle
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.spec.job import JobSpec
from launchers.vertex.catalogue import RULES
from launchers.vertex.options import VertexOptions
from launchers.vertex.planning.account import Account, account_of, default_bucket
from launchers.vertex.service.custom_jobs import no_such_job, resources_of
from launchers.vertex.service.session import GOOGLE_ERRORS, Session, session_for

_RESOURCE = re.compile(r"projects/([^/]+)/locations/([^/]+)/customJobs/(\d+)")


def resolve(known: Account) -> Account:
    """``known`` with project and bucket, and with where each came from.

    Credentials are looked at only where nothing names a project. Nothing is asked of a service.

    Raises:
        LaunchError: There is no location or no project, or the caller has no credentials.
    """
    if known.location_is_assumed:
        raise LaunchError(_no_location())
    project, origin = _project(known)
    known = replace(known, project=project, project_origin=origin)
    if not known.bucket_is_placeholder:
        return known
    # The name that Vertex AI's own SDK gives a project's default staging bucket.
    bucket = default_bucket(project, known.location)
    return replace(known, bucket=bucket, bucket_origin="the project's default")


def adopt(name: str, region: str | None) -> JobHandle:
    """A job that another machine or another tool submitted.

    Args:
        name: Its number, its display name, or ``projects/P/locations/L/customJobs/ID``.

    Raises:
        LaunchError: There is none, or several have that display name, or nothing says where.
    """
    whole = _RESOURCE.fullmatch(name)
    if whole is not None:
        return _handle(whole[3], whole[1], whole[2], name)
    known = account_of(JobSpec(options=VertexOptions(), region=region))
    if known.location_is_assumed:
        raise LaunchError(_no_location(f"launch ... vertex:{name} --region REGION"))
    project, _ = _project(known)
    session = session_for(project, known.location)
    if name.isdecimal():
        return _handle(name, project, known.location, f"{session.parent}/customJobs/{name}")
    return _handle(name, project, known.location, _named(session, name))


def _handle(name: str, project: str, location: str, resource: str) -> JobHandle:
    where = {"project": project, "location": location, "region": location}
    return JobHandle("vertex", name, {**where, "resource": resource})


def _named(session: Session, name: str) -> str:
    """The one job of that display name."""
    found = resources_of(session, name)
    if len(found) == 1:
        return found[0]
    if not found:
        raise LaunchError(no_such_job(session, name))
    numbers = ", ".join(resource.rpartition("/")[2] for resource in found[:6])
    raise LaunchError(
        RULES["job-ambiguous"].at(
            f"vertex:{name}",
            f"{len(found)} jobs of that display name ({numbers})",
            "one job",
            "give its number, vertex:ID",
        )
    )


def _project(known: Account) -> tuple[str, str]:
    """The project and where it came from.

    Raises:
        LaunchError: Nothing names one.
    """
    if not known.project_is_placeholder:
        return known.project, known.project_origin
    session = session_for(known.project, known.location)
    try:
        project = session.own_project()
    except GOOGLE_ERRORS as error:
        raise session.refused(error, "the project") from None
    if project:
        return project, "the credentials' own project"
    raise LaunchError(RULES["project-missing"].at("--project", "none"))


def _no_location(line: str = "give --location") -> Problem:
    return RULES["location-missing"].at(
        "--location",
        "none",
        fix=f"{line}, set GOOGLE_CLOUD_REGION, or run `gcloud config set ai/region REGION`",
    )
