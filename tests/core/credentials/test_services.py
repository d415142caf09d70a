"""Values that are credentials by their service's name, and what only looks like them."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from launchers.core.credentials import search, services
from launchers.core.credentials.services import kind_of_service

TABLE = json.loads(Path(services.__file__).with_name("services.json").read_text("utf-8"))
ROWS: list[dict[str, Any]] = TABLE["services"]
NAMED = [(row, name) for row in ROWS for name in ("token", *row["names"])]


def made(row: dict[str, Any]) -> str:
    """A value of the row's form, drawn anew."""
    letters = [chr(n) for n in range(48, 123) if re.fullmatch(f"[{row['alphabet']}]", chr(n))]
    letters = [letter for letter in letters if letter.isalnum()]
    drawn, length = random.Random(5), row["length"][0] - len(row["prefix"]) - 1
    return row["prefix"] + "".join(drawn.choice(letters) for _ in range(length)) + "7"


@pytest.mark.parametrize(("row", "end"), NAMED, ids=[f"{row['words'][0]} {n}" for row, n in NAMED])
def test_every_row_is_found_in_code_configuration_and_the_environment(row: dict, end: str):
    name, value = f"{row['words'][0]}_{end}", made(row)
    assert search.scan_text(f'{name} = "{value}"\n')
    assert search.scan_text(f"{name}: {value}\n", "configuration")
    assert search.looks_like_credential(name.upper(), value)


@pytest.mark.parametrize("row", ROWS, ids=[row["words"][0] for row in ROWS])
def test_every_row_names_issuer_and_source(row: dict):
    assert row["issuer"]
    assert row["source"]


@pytest.mark.parametrize("row", ROWS, ids=[row["words"][0] for row in ROWS])
def test_another_name_another_length_and_a_word_are_none(row: dict):
    word, value = row["words"][0], made(row)
    assert kind_of_service(f"{word}_folder", value) == ""
    assert kind_of_service("token", value) == ""
    longer = value + "x" * (row["length"][1] - len(value) + 1)
    assert kind_of_service(f"{word}_token", longer) == ""
    assert kind_of_service(f"{word}_token", row["prefix"] + "a" * (len(value) - 2)) == ""


@pytest.mark.parametrize(
    "text",
    [
        'dropbox_token = "see_the_secrets"',
        'if dropbox_token == "abcdefgh1234567":',
        'login = "0123456789abcdef0123456789abcdef01234567"',
        'sonar_project = "0123456789abcdef0123456789abcdef01234567"',
        'sumo_access_id = "su"',
        'parts = ("linkedin_secret", "abcdefgh12345678")',
    ],
)
def test_what_only_looks_alike_passes(text: str):
    assert search.scan_text(text + "\n") == []
