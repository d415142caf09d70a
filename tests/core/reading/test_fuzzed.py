"""No text ends in anything but a value or a problem."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launchers.core.model.problems import LaunchError
from launchers.core.reading.job_file import read
from launchers.core.reading.places import places_of
from launchers.core.reading.text_file import parse_all

BOUNDED = settings(
    max_examples=150,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
SIGNS = st.text(alphabet="ab1.:-?&*!<>{}[],'\"|%@`#~ \n\t\\=e_", max_size=60)
KEYS = st.sampled_from(["instances", "args", "env", "sweep", "sagemaker", "local", "name", "<<"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@BOUNDED
@given(SIGNS)
def test_a_text_is_a_value_or_a_problem(text: str) -> None:
    with suppress(LaunchError):  # anything else is a defect
        parse_all(text, "document")
    assert isinstance(places_of(text, "document"), dict)


@BOUNDED
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_a_launch_yaml_is_a_job_or_problems(tmp_path: Path, tree: object) -> None:
    file = tmp_path / "launch.yaml"
    file.write_text(json.dumps(tree))
    with suppress(LaunchError):
        assert isinstance(read(file), dict)
