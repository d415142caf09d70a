"""`launch image build --push REPO`: to a registry, with the credentials of Docker's own config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from launchers.core.model.problems import EXIT_PROVIDER, LaunchError
from launchers.core.records.pushed_image import remember_pushed
from launchers.docker.progress import Progress, size_text
from launchers.image.catalogue import RULES
from launchers.image.names import recipe_of

if TYPE_CHECKING:
    import docker

# Seconds between two words of a registry; a layer of 2 GB is committed in one silent step.
PUSH_SECONDS = 900.0


def push(client: docker.DockerClient, tag: str, repository: str, progress: Progress) -> str:
    """Push an image and remember it; gives ``REPOSITORY@sha256:...``.

    Blocks until the registry has all of it. A second call sends only what is not there.

    Args:
        tag: An image on this machine, ``NAME:VERSION``.
        repository: ``HOST/PATH`` or ``HOST/PATH:TAG``; without a tag, that of ``tag``.

    Raises:
        LaunchError: The name is wrong (exit code 2), or the registry refused (5).
    """
    import docker.errors

    name, label = target(repository, tag)
    progress.step(f"Push {name}:{label}")
    layers: dict[str, tuple[int, int]] = {}
    digest = ""
    try:
        image = client.images.get(tag)
        if not image.tag(name, label):
            raise _refused(name, "the engine cannot give the image that name")
        for event in client.api.push(name, tag=label, stream=True, decode=True):
            if "error" in event:
                raise _refused(name, str(event["error"]))
            digest = (event.get("aux") or {}).get("Digest", digest)
            _note(event, layers, progress)
    except (docker.errors.DockerException, OSError) as error:
        raise _refused(name, getattr(error, "explanation", None) or str(error)) from None
    if not digest:
        raise _refused(name, "no digest in its answer")
    reference = f"{name}@{digest}"
    remember_pushed(reference, f"{name}:{label}", recipe_of(image.labels))
    return reference


def target(repository: str, tag: str) -> tuple[str, str]:
    """The name and the label under which ``tag`` is pushed to ``repository``. Asks nobody.

    Raises:
        LaunchError: No registry can have that name.
    """
    from docker.utils import parse_repository_tag

    name, label = parse_repository_tag(repository)
    label = label or parse_repository_tag(tag)[1] or "latest"
    if name.startswith(("http://", "https://")) or "@" in repository or label.startswith("sha256:"):
        raise LaunchError(
            RULES["push-repository"].at(
                "--push", repository, fix=name.split("://")[-1] if "://" in name else ""
            )
        )
    return name, label


def _note(event: Mapping[str, Any], layers: dict[str, tuple[int, int]], progress: Progress) -> None:
    detail = event.get("progressDetail") or {}
    if "current" in detail:
        done = int(detail["current"])
        layers[event["id"]] = (done, max(done, int(detail.get("total", done))))
        sent = sum(done for done, _ in layers.values())
        total = sum(total for _, total in layers.values())
        progress.note(f"{size_text(sent)} of {size_text(total)}")
    elif "status" in event:
        progress.note(str(event["status"]))


def _refused(name: str, reason: str) -> LaunchError:
    text = reason.lower()
    host = name.split("/")[0]
    fix = ""
    if any(sign in text for sign in ("denied", "unauthorized", "no basic auth", "forbidden")):
        fix = _login_line(host)
    elif "not found" in text or "does not exist" in text:
        fix = "make the repository first: neither ECR nor Artifact Registry does it on a push"
    return LaunchError(
        RULES["push-refused"].at("--push", f"{name}: {reason.strip()[:300]}", fix=fix),
        EXIT_PROVIDER,
    )


def _login_line(host: str) -> str:
    """How a user logs in to this kind of registry."""
    if ".dkr.ecr." in host:
        region = host.split(".dkr.ecr.")[1].split(".")[0]
        return (
            f"aws ecr get-login-password --region {region} | docker login --username AWS "
            f"--password-stdin {host}"
        )
    if host.endswith(("pkg.dev", "gcr.io")):
        return f"gcloud auth configure-docker {host}"
    return f"docker login {host}"
