"""Which image a rehearsal runs in: the document's, else ours, else none. The engine is made up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, ImageNotFound

from launchers.image.names import GPU_LABEL, RECIPE_LABEL, WITH_LABEL, default_tag
from launchers.rehearsal.staging import images
from launchers.rehearsal.staging.images import have_image, image_or_ours, registry_of
from tests.refusals import refused

CLOUDS = "123.dkr.ecr.us-east-1.example.com/training:2.18"
NO_HOST = "dial tcp: lookup 123.dkr.ecr.us-east-1.example.com: no such host"
NO_LOGIN = "no basic auth credentials"
UNKNOWN = "manifest for training:2.18 not found: manifest unknown"


class Engine:
    """Has some images of ours, and answers a pull with steps, then with an error or the image."""

    def __init__(self, *ours: str, error: str = "", steps: tuple[Any, ...] = ()):
        self.images = self
        self.api = SimpleNamespace(
            images=lambda filters: [{"Id": name} for name in ours],
            inspect_image=self.inspect_image,
            pull=self.pull,
        )
        self._ours, self._error, self._steps = ours, error, steps
        self.pulled: list[str] = []
        self.silent = threading.Event()

    def inspect_image(self, image: str) -> None:
        if image not in self._ours and (image not in self.pulled or self._error):
            raise ImageNotFound("No such image")

    def pull(self, image: str, stream: bool, decode: bool) -> Iterator[Any]:
        assert (stream, decode) == (True, True)
        self.pulled.append(image)
        yield from self._steps
        if self._error == "silence":
            self.silent.wait(10)
        elif self._error:
            raise APIError("pull", explanation=self._error)

    def get(self, image: str) -> Any:
        recipe = image.partition(":")[0].removeprefix("launch-")
        labels = {RECIPE_LABEL: "x", GPU_LABEL: "0", WITH_LABEL: recipe}
        return SimpleNamespace(tags=[image], labels=labels, attrs={"Created": "2026"})


class Teller:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.bytes: list[tuple[str, int, int]] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def progress(self, label: str, done: int, total: int) -> None:
        self.bytes.append((label, done, total))


@pytest.fixture(autouse=True)
def no_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "visible_gpus", lambda: [])


def chosen(engine: Engine, image: str = CLOUDS, strategy: str = "horovod") -> tuple[str, str]:
    return image_or_ours(engine, image, strategy, Teller())


def test_an_image_that_can_be_pulled_is_the_documents() -> None:
    assert chosen(Engine("launch-horovod:1")) == (CLOUDS, "")


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (NO_HOST, "its registry cannot be reached from here"),
        ("dial tcp 127.0.0.1:9: connect: connection refused", "its registry cannot be reached"),
        (NO_LOGIN, "its registry wants a login"),
        ("pull access denied for x", "its registry wants a login"),
        ("net/http: request canceled (Client.Timeout exceeded)", "its registry does not answer"),
        ("something new", "something new"),
    ],
)
def test_ours_stands_in_where_its_registry_cannot_be_asked(error: str, why: str) -> None:
    image, told = chosen(Engine("launch-torch:1", "launch-horovod:1", error=error))
    assert image == "launch-horovod:1"
    assert told.startswith(f"image launch-horovod:1 (ours) instead of {CLOUDS}: ")
    assert why in told


def test_an_image_that_somebody_made_of_ours_comes_after_it() -> None:
    own = default_tag()
    engine = Engine("theirs:1", own, error=NO_LOGIN)
    assert chosen(engine)[0] == own


def test_ours_is_the_one_of_the_jobs_strategy() -> None:
    engine = Engine("launch-torch:1", "launch-horovod:1", error=NO_LOGIN)
    assert chosen(engine, strategy="torch")[0] == "launch-torch:1"


@pytest.mark.parametrize("image", [CLOUDS, "launch-horovod:typo"])
def test_an_image_that_is_nowhere_is_refused_although_ours_is_here(image: str) -> None:
    error = UNKNOWN if image == CLOUDS else NO_HOST
    with refused("rehearsal-image", "--rehearsal-image launch-horovod:1"):
        chosen(Engine("launch-horovod:1", error=error), image)


def test_a_slip_in_the_name_of_an_image_of_this_machine_is_told() -> None:
    engine = Engine("launch-horovod:1", error=NO_HOST)
    with refused("rehearsal-image", r"did you mean launch-horovod:1\?"):
        chosen(engine, "launch-horvod:1")


@pytest.mark.parametrize(
    ("strategy", "build"), [("horovod", "launch image build`"), ("torch", "build --with torch`")]
)
def test_without_ours_one_error_has_both_ways_on(strategy: str, build: str) -> None:
    with refused("rehearsal-image", build) as raised:
        chosen(Engine(error=NO_LOGIN), strategy=strategy)
    fix = raised.value.problems[0].fix
    assert f"docker login {registry_of(CLOUDS)}" in fix
    assert f"docker pull {CLOUDS}" in fix


def test_what_the_user_names_for_the_rehearsal_is_never_replaced() -> None:
    with refused("rehearsal-image", "no such host"):
        have_image(Engine("launch-horovod:1", error=NO_HOST), CLOUDS, "horovod", Teller())


def test_a_registry_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_FIRST_SECONDS", 0.05)
    engine = Engine("launch-horovod:1", error="silence")
    try:
        image, told = chosen(engine)
    finally:
        engine.silent.set()
    assert image == "launch-horovod:1"
    assert "its registry does not answer" in told


def test_a_long_pull_tells_how_far_it_is() -> None:
    def layer(name: str, current: float) -> dict[str, Any]:
        sizes = {"current": current, "total": 1000}
        return {"status": "Downloading", "id": name, "progressDetail": sizes}

    steps = ({"status": "Pulling from x"}, layer("a", 200), layer("b", 100), layer("a", 1000))
    told = Teller()
    assert image_or_ours(Engine(steps=steps), CLOUDS, "horovod", told) == (CLOUDS, "")
    assert told.notes == [f"image {CLOUDS} is not on this machine: pulling it"]
    assert told.bytes == [(CLOUDS, 200, 1000), (CLOUDS, 300, 2000), (CLOUDS, 1100, 2000)]


@pytest.mark.parametrize(
    ("image", "registry"),
    [("a/b:1", ""), ("b:1", ""), ("localhost/b", "localhost"), ("h:5000/b", "h:5000")],
)
def test_a_registry_is_a_host(image: str, registry: str) -> None:
    assert registry_of(image) == registry
