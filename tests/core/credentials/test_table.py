"""The table of shapes, and what finds them: in large files, behind base64, in any field.

Values are put together at run time; the repository holds nothing with a credential's shape.
"""

from __future__ import annotations

import base64
import json
import random
import re
from pathlib import Path

import pytest

from infra.refresh.regex_samples import samples
from launchers.core.credentials import anchors, matching, search, shapes
from launchers.core.credentials.elsewhere import masked, problems_anywhere
from launchers.core.credentials.stream import StreamSearch
from launchers.core.source.bundle import scan
from tests.core.source.trees import plant

TABLE = json.loads(Path(shapes.__file__).with_name("shapes.json").read_text("utf-8"))["shapes"]
ROWS = [(row, prefix) for row in TABLE for prefix in row["prefixes"]]


def made(row: dict, prefix: str, seed: int = 5) -> str:
    """A value of the row's shape."""
    drawn = random.Random(seed)
    alphabet = [chr(n) for n in range(33, 127) if re.fullmatch(f"[{row['alphabet']}]", chr(n))]
    alphabet = [letter for letter in alphabet if letter.isalnum()]
    least, most = row["length"]
    body = [drawn.choice(alphabet) for _ in range(max(least, 1 if most is None else least))]
    if "0" in alphabet:
        body[len(body) // 2] = "7"
    return prefix + "".join(body)


TOKEN = made({"alphabet": "A-Za-z0-9", "length": [36, 36]}, "npm" + "_")


@pytest.mark.parametrize(("row", "prefix"), ROWS, ids=[prefix for _, prefix in ROWS])
def test_every_row_finds_what_it_says(row: dict, prefix: str):
    for text in (f'value = "{made(row, prefix)}"\n', "x " * 4000 + made(row, prefix) + "\n"):
        assert [line for line, _ in search.scan_text(text)] == [1], prefix


@pytest.mark.parametrize("row", TABLE, ids=[row["prefixes"][0] for row in TABLE])
def test_every_row_names_issuer_and_source(row: dict):
    assert row["issuer"]
    assert row["source"]
    assert row["kind"].startswith(("a ", "an "))


@pytest.mark.parametrize(
    "text",
    [
        'curl -u "robot:' + 's3same-word" https://host/x',
        "curl -s \\\n  --user robot:" + "s3same-word https://host/x",
        "curl -u robot:'" + "s3same-word' https://host/x",
        'curl -u "' + TOKEN[4:] + ':" https://host/x',
        'curl -s -H "X-Api-Key: ' + "s3same-word" + '" https://host/x',
        "curl --header 'Authorization: Api-Token " + "s3same-word' https://host/x",
        "_gitlab_session=" + TOKEN[4:36].lower(),
        "harness: " + f"pat.{TOKEN[4:26]}.{TOKEN[4:28]}.{TOKEN[4:24]}",
        "'secret_key' => 'sk_" + TOKEN[4:30] + "(*!'",
        'parser.add_argument("--api-key", default="' + TOKEN[4:] + '")',
        "//registry.example/:_authToken=" + TOKEN[4:],
        "KEY: " + base64.b64encode(f"token {TOKEN} end".encode()).decode(),
    ],
)
def test_a_credential_is_found_in_its_usual_places(text: str):
    assert search.scan_text(text + "\n", "configuration")


@pytest.mark.parametrize(
    "text",
    [
        "curl -u ${USER}:${TOKEN} https://host/x",
        'curl -u "$USER":"$TOKEN" https://host/x',
        "curl -u a-robot-with-a-long-name: https://host/x",
        'curl -H "X-Api-Key: $KEY1" https://host/x',
        'curl -H "X-Idempotency-Key: 0e5c5cf0-11aa" https://host/x',
        'curl -H "Token: your-token-1" https://host/x',
        "_gitlab_session=value",
        "format.pat.of_one.thing",
        "'secret_key' => 'sk_the_key_that_stands_elsewhere'",
        "docker run -u 1000:1000 image",
        "sort -u a:bcdef",
        'parser.add_argument("--token-file", default="a/file/of/tokens1")',
        "//registry.example/:_authToken=${NPM_TOKEN}",
        base64.b64encode(b"nothing but ordinary words are in here").decode(),
        "task_npm_config_of_a_very_long_identifier_2",
    ],
)
def test_what_only_looks_alike_passes(text: str):
    assert search.scan_text(text + "\n", "configuration") == []


@pytest.mark.parametrize("cut", [1, 10, 39])
def test_a_large_file_is_searched_across_its_pieces(cut: int):
    search = StreamSearch()
    search.feed(b"line\n" * 30_000 + TOKEN[:cut].encode())
    search.feed(TOKEN[cut:].encode() + b"\n" + b"line\n" * 30_000)
    assert search.found == {30_001: "an npm token"}


def test_a_binary_file_is_searched_for_what_no_random_bytes_are():
    search = StreamSearch()
    search.feed(b"\0" * 100 + TOKEN.encode() + b"\0")
    search.feed(b"\0 ://a:" + b"bcdef@host \0" + random.Random(1).randbytes(1 << 20))
    assert search.found == {100: "an npm token"}


def test_files_above_a_megabyte_are_searched(tmp_path: Path):
    entrypoints = plant(tmp_path / "entry", {"agent.py": "", "guard.py": ""})
    tree = {"train.py": "", "big.txt": "word\n" * 300_000 + TOKEN + "\n", "z.txt": "word\n"}
    bundle = scan(plant(tmp_path / "source", tree), entrypoints)
    assert [problem.path for problem in bundle.problems] == ["big.txt:300001"]
    assert TOKEN not in str(bundle.problems)
    allowed = scan(tmp_path / "source", entrypoints, allowed=["big.txt"])
    assert allowed.problems == ()
    assert allowed.allowed == ("big.txt",)


@pytest.mark.parametrize("anchor", matching.ANCHORS, ids=lambda anchor: anchor.decode())
def test_no_matcher_passes_over_the_shortest_of_its_shape(anchor: bytes):
    """Each shape's shortest value that is most broken by signs which no run has."""
    for shape in (shape for shape in shapes.SHAPES if anchor.decode() in shape.anchors):
        for sample in samples(shape.pattern, seeds=4):
            text = " " + sample + " \n" + "word " * 1000
            begun = [one for one in shape.anchors if one in sample]
            found = set(matching.anchors_in(text.encode()))
            assert {one.encode() for one in begun} <= found, sample


@pytest.mark.skipif(not anchors._native((b"x",)), reason="google-re2")
def test_both_ways_find_the_same(monkeypatch: pytest.MonkeyPatch):
    text = (" word " * 3000).join(made(row, prefix) for row, prefix in ROWS)
    native = list(matching.matches(text))
    monkeypatch.setattr(anchors, "_native", lambda _: None)
    assert list(matching.matches(text)) == native


def test_an_aws_secret_is_found_beside_its_key_id_in_a_large_file():
    key_id, secret = (
        "AKIA" + "Q3ZL7RTNB2XWMD5C",
        "wJalrXUtnFEMI" + "/K7MDENG/" + "bPxRfiCYabcdefGH1x",
    )
    search = StreamSearch()
    search.feed(b"line\n" * 300_000 + f"{key_id}\nregion\n".encode())
    search.feed(f"key = {secret}\n\n\nother {secret}\n".encode() + b"line\n" * 3000)
    assert search.found == {
        300_001: "an AWS access key id",
        300_003: "an AWS secret access key",
    }


def test_a_credential_is_refused_in_any_field_of_a_document():
    document = {"Tags": [{"Value": TOKEN}], "a": {"password": "hunter2x", TOKEN: 1}, "b": "fine"}
    problems = problems_anywhere(document)
    paths = ["$.Tags[0].Value", "$.a.password", "$.a.(hidden)"]
    assert [problem.path for problem in problems] == paths
    assert all(problem.rule == "credential" for problem in problems)
    assert TOKEN not in str(problems)
    assert problems_anywhere(document, skip={"$.a", "$.Tags"}) == []


def test_a_value_with_a_credentials_form_is_never_shown():
    assert masked(TOKEN) == "*** (40 characters)"
    assert masked("resnet50") == "resnet50"
