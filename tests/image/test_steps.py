"""A build's stream, told as the steps that the Dockerfile names."""

from __future__ import annotations

import pytest

from launchers.core.model.problems import EXIT_JOB_DID_NOT_SUCCEED
from launchers.image.steps import BuildStream, instructions
from tests.image.told import Told
from tests.refusals import refused

DOCKERFILE = """\
# A comment.
ARG BASE=debian
FROM ${BASE} AS build
# step: Compile
RUN one \\
    # a comment within
    && two
ENV A=1 \\

    B=2
# step: Try
RUN three
"""
IMAGE = "sha256:" + "a" * 64


def events(*texts: str) -> list[dict[str, object]]:
    return [{"stream": text} for text in texts]


def test_instructions_are_counted_as_the_engine_counts_them() -> None:
    found = instructions(DOCKERFILE)

    assert [(item.text, item.title) for item in found] == [
        ("ARG BASE=debian", ""),
        ("FROM ${BASE} AS build", ""),
        ("RUN one", "Compile"),
        ("ENV A=1", ""),
        ("RUN three", "Try"),
    ]


def test_titled_steps_are_told_with_their_position_and_newest_line() -> None:
    told = Told()
    stream = BuildStream(DOCKERFILE, told)

    stream.follow(
        [
            *events("Step 1/5 : ARG BASE=debian\n", "Step 2/5 : FROM ${BASE} AS build\n"),
            *events(" ---> 0123\n", "Step 3/5 : RUN one     && two\n", " ---> Running in 45\n"),
            *events("half ", "a line\n", "50%\r", "100%\r\n", " ---> 67\n"),
            *events("Step 5/5 : RUN three\n", " ---> Using cache\n"),
            {"aux": {"ID": IMAGE}},
        ]
    )

    assert told.steps == ["1/2 Compile", "2/2 Try"]
    assert told.notes == ["half a line", "50%", "100%", "cached"]
    assert stream.image == IMAGE
    assert not stream.cached


def test_a_build_of_cached_steps_alone_is_told_so() -> None:
    stream = BuildStream(DOCKERFILE, Told())

    stream.follow(events("Step 3/5 : RUN one\n", " ---> Using cache\n", " ---> 67\n"))

    assert stream.cached


def test_a_failed_step_is_named_with_its_last_20_lines() -> None:
    told = Told()
    lines = [f"line {number}\n" for number in range(50)]

    with refused("image-build-failed") as caught:
        BuildStream(DOCKERFILE, told).follow(
            [
                *events(
                    "Step 3/5 : RUN one\n",
                    " ---> Running in 45\n",
                    *lines,
                    "\x1b[91mthe last\x1b[0m",
                ),
                {"error": "returned a non-zero code: 7", "errorDetail": {"code": 7}},
            ]
        )

    (problem,) = caught.value.problems
    assert caught.value.exit_code == EXIT_JOB_DID_NOT_SUCCEED
    assert problem.path == "image build, step 3/5: Compile"
    assert "exit code 7" in problem.found
    assert told.kept == [f"  | line {number}" for number in range(31, 50)] + ["  | the last"]


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("SSLError(CERTIFICATE_VERIFY_FAILED)", "SSL_CERT_FILE"),
        ("Temporary failure resolving 'deb.debian.org'", "HTTP_PROXY"),
        ("write error: No space left on device", "docker system df"),
        ("something else", ""),
    ],
)
def test_a_known_cause_of_a_failed_step_comes_with_its_fix(line: str, fix: str) -> None:
    failure = {"error": "returned a non-zero code: 1", "errorDetail": {"code": 1}}

    with refused("image-build-failed") as caught:
        BuildStream(DOCKERFILE, Told()).follow([*events(f"{line}\n"), failure])

    assert fix in caught.value.problems[0].fix
    assert bool(caught.value.problems[0].fix) is bool(fix)
