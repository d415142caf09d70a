"""launch.yaml: what it may hold, and what a mistake in it is told."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.paths import templates_folder
from launchers.core.reading.job_file import read, schema


def written(folder: Path, text: str) -> Path:
    path = folder / "launch.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gives_the_fields_that_it_has_and_no_others(tmp_path: Path):
    path = written(
        tmp_path,
        "script: train.py\ninstances: 2\nmax_runtime: 2h\nenv: {A: b}\nlocal: {python: .venv}\n",
    )
    assert read(path) == {
        "script": "train.py",
        "instances": 2,
        "max_runtime": 7200,
        "environment": {"A": "b"},
        "local": {"python": ".venv"},
    }


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (
            "args: [--lr, 1.10, --flag, 'a b', 1e3, true, 0x10, '']",
            ["--lr", "1.10", "--flag", "a b", "1e3", "true", "0x10", ""],
        ),
        ("args: {lr: 1.10, epochs: 3}", ["--lr", "1.10", "--epochs", "3"]),
    ],
)
def test_arguments_keep_the_text_that_the_file_has(tmp_path: Path, text: str, arguments: list[str]):
    assert list(read(written(tmp_path, text))["arguments"]) == arguments


def test_digits_behind_a_zero_stay_what_they_are_where_the_script_reads_them(tmp_path: Path):
    found = read(written(tmp_path, "args: [--mode, 010]\nenv: {MASK: 0022}"))
    assert found["arguments"] == ("--mode", "010")
    assert found["environment"] == {"MASK": "0022"}


def test_environment_values_keep_the_text_that_the_file_has(tmp_path: Path):
    found = read(written(tmp_path, "env:\n  A: 1.10\n  B: no\n  C: 'http://x/y#z'\n"))
    assert found["environment"] == {"A": "1.10", "B": "no", "C": "http://x/y#z"}


def test_an_empty_file_is_a_file_without_keys(tmp_path: Path):
    assert read(written(tmp_path, "# nothing yet\n")) == {}


MISTAKES = [
    ("instance: 2", ["launch.yaml:1: instance", "unknown key", "did you mean instances?"]),
    ("max-runtime: 2h", ["did you mean max_runtime?"]),
    ("sagemakr: {}", ["did you mean sagemaker?"]),
    ("instances: two", ["launch.yaml:1: instances", '"two"', "a whole number from 1 to 1000"]),
    ("instances: 0", ["launch.yaml:1: instances: 0", "a whole number from 1"]),
    ("instances: 2.0", ["instances: 2.0", "a whole number"]),
    ("instances: true", ["instances: true", "a whole number"]),
    ("gpus: -1", ["gpus: -1", "a whole number from 0 to 64"]),
    ("spot: maybe", ["spot", '"maybe"', "true or false"]),
    ("max_runtime: 90", ["max_runtime: 90", "a time with its unit"]),
    ("env: [A=b]", ["env: a list; expected a mapping, such as {NAME: VALUE}"]),
    ("env:\n  A: b\n  DEBUG: null", ["launch.yaml:3: env.DEBUG: null", "one text"]),
    ("env:\n  A: [b]", ["launch.yaml:2: env.A: a list", "one text"]),
    ("env:\n  A B: c", ['env.A B: "A B"', "a name that matches"]),
    ('args: "--lr 0.1 --epochs 3"', ["launch.yaml:1: args", "a list, such as [--lr, 0.1]"]),
    ("args: {a: [b, {c: d}]}", ["args.a.1: a mapping", "a text"]),
    ("max_runtime: 1:30:00", ['max_runtime: "1:30:00"', "a time with its unit"]),
    ("env: {A: }", ["env"]),
    ("name: a_b", ["name", "letters, digits and inner hyphens"]),
    ("pin_gpu: me", ["one of guard, script, none"]),
    ("local: {pyton: x}", ["launch.yaml:1: local.pyton", "did you mean python?"]),
    ("local: [a]", ["local"]),
    ("local:\n  port: 99999", ["launch.yaml:2: local.port", "from 0 to 65535"]),
    ("- a\n- b", ["launch.yaml: a list; expected a mapping of keys"]),
    ("a: [", ["launch.yaml:", "valid YAML"]),
    ("instances: 1\ninstances: 2", ["launch.yaml:2: instances", "the same key twice"]),
    ("1: 2", ["a string as the key"]),
    # Of YAML 1.1, which nobody has in mind.
    ("instances: 010", ["launch.yaml:1: instances: 010", "without a leading zero"]),
    (
        "script: t.py\nprofiles:\n  a: {instances: 0_7}",
        ["launch.yaml:3: profiles.a.instances: 0_7"],
    ),
    ("name: no", ["name: false", "put it in quotes"]),
    ("name: 12345", ["name: 12345", "put it in quotes"]),
    ("env: {A: b}\nname: a\x07b", ["launch.yaml:2: control characters"]),
    ("train.py", ["launch.yaml: a text; expected a mapping"]),
    ("sweep:", ["launch.yaml:1: sweep: null"]),
    ("sweep: {jobs: [5]}", ["sweep.jobs[0]: 5; expected a mapping"]),
    # What a sweep's path goes through is no mapping.
    ("env: [A=1]\nsweep: {matrix: {env.S: [1, 2]}}", ["launch.yaml:1: env: a list"]),
    ("sagemaker: true\nsweep: {matrix: {sagemaker.role: [a, b]}}", ["1: sagemaker: true"]),
    ("script: a.py\nsweep: {matrix: {script.x: [1, 2]}}", ["launch.yaml:1: script: a mapping"]),
    ("args: --lr 1\nsweep: {matrix: {args.lr: [1, 2]}}", ["launch.yaml:1: args: "]),
]


@pytest.mark.parametrize(("text", "parts"), MISTAKES, ids=[text for text, _ in MISTAKES])
def test_a_mistake_is_told_with_its_line_what_was_found_and_what_is_allowed(
    tmp_path: Path, text: str, parts: list[str]
):
    with pytest.raises(LaunchError) as caught:
        read(written(tmp_path, text))
    for part in parts:
        assert part in str(caught.value)
    assert caught.value.exit_code == 2


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path):
    text = "instance: 2\ngpus: four\nspot: 1\nlocal: {port: x, pyton: y}\n"
    with pytest.raises(LaunchError) as caught:
        read(written(tmp_path, text))
    rules = [problem.rule for problem in caught.value.problems]
    assert sorted(rules) == 2 * ["file-key-unknown"] + 3 * ["file-value"]


def test_a_file_that_is_not_text_is_told_so(tmp_path: Path):
    path = tmp_path / "launch.yaml"
    path.write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(LaunchError, match="UTF-8"):
        read(path)


def test_the_schema_names_every_key_and_says_what_it_is():
    found = schema()
    assert found["additionalProperties"] is False
    for key in (
        "script",
        "args",
        "instances",
        "env",
        "max_runtime",
        "local",
        "sagemaker",
        "vertex",
    ):
        assert found["properties"][key]["description"]
    assert "python" in found["properties"]["local"]["properties"]
    json.dumps(found)


def test_the_file_that_init_writes_is_one_that_is_read(tmp_path: Path):
    text = (templates_folder() / "init" / "launch.yaml").read_text(encoding="utf-8")
    assert read(written(tmp_path, text))["script"] == "train.py"
    commented = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]
    keys = [line for line in commented if re.match(r"(\w+:($| .*  #)|  \w+: )", line)]
    found = read(written(tmp_path, "\n".join(keys)))
    assert found == {
        "module": "pkg.train",
        "gpus": 4,
        "max_runtime": 7200,
        "checkpoint": "/data/ckpt",
        "image": "HOST/PATH:TAG",
        "bucket": "my-bucket",
        "local": {"python": ".venv"},
        "sagemaker": {"keep_alive": 1800},
        "vertex": {"project": "my-project", "boot_disk": "pd-ssd:200"},
        "spark": {"master": "spark://HOST:7077", "archives": ("env.tgz",)},
    }


@pytest.mark.parametrize(
    "text",
    [
        "env:\n  DB_PASSWORD: hunter2secretvalue\n  DEBUG: null",
        "env:\n  WEBHOOK_SECRET: [hunter2secretvalue]",
        "env: [DB_PASSWORD=hunter2secretvalue, 3]",
        "profiles: {prod: {env: {API_TOKEN: hunter2secretvalue, X: null}}}",
        "profiles: {prod: [hunter2secretvalue]}",
        "args: {password: [hunter2secretvalue, {a: b}]}",
        "sagemaker: [hunter2secretvalue]",
        "secrets: {DB_PASSWORD: [hunter2secretvalue]}",
        "max_runtime: PASSWORD=hunter2secretvalue",
    ],
)
def test_a_value_beside_a_mistake_is_not_shown(tmp_path: Path, text: str):
    with pytest.raises(LaunchError) as caught:
        read(written(tmp_path, text))
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value.problems)


def test_a_wrong_profile_hides_no_other_mistake(tmp_path: Path):
    with pytest.raises(LaunchError) as caught:
        read(written(tmp_path, "instances: two\nprofiles: {prod: {gpus: no}}"))
    assert [one.path for one in caught.value.problems] == [
        "launch.yaml:2: profiles.prod.gpus",
        "launch.yaml:1: instances",
    ]
