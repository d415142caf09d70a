"""What the ignore files of a tree, and those above it, leave out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launchers.core.source.bundle import scan
from tests.core.source.trees import Scanned, left_out, plant, user_files, why_left_out

IGNORE_TABLE = {
    # rules, kept, left out
    "pattern": ({".gitignore": "*.h5\n"}, ["a.py"], ["m.h5", "d/m.h5"]),
    "folder": ({".gitignore": "out/\n"}, ["d/out"], ["out/x", "d2/out/x"]),
    "anchored": ({".gitignore": "/out\n"}, ["d/out/x"], ["out/x"]),
    "later wins": ({".gitignore": "*.h5\n!best.h5\n"}, ["best.h5"], ["m.h5"]),
    "deeper wins": ({".gitignore": "*.h5\n", "d/.gitignore": "!*.h5\n"}, ["d/m.h5"], ["m.h5"]),
    "allow list": ({".gitignore": "*\n!*/\n!*.py\n"}, ["a.py", "d/e/b.py"], ["m.h5", "d/e/m.h5"]),
    "contents alone": ({".gitignore": "d/**\n!d/**/\n!d/**/*.py\n"}, ["d/e/a.py"], ["d/m.h5"]),
    "folder is final": ({".gitignore": "d/\n!d/a.py\n"}, [], ["d/a.py"]),
    "launchignore leaves out": ({".launchignore": "data/\n"}, ["a.py"], ["data/x"]),
    "launchignore overrides": (
        {".gitignore": "*.h5\n", ".launchignore": "!best.h5\n"},
        ["best.h5", "d/best.h5"],
        ["m.h5"],
    ),
    "launchignore overrides deeper gitignore": (
        {"d/.gitignore": "*\n", ".launchignore": "!d/a.py\n"},
        ["d/a.py"],
        ["d/b.py"],
    ),
    "launchignore brings a folder back": (
        {".gitignore": "gen/\n", ".launchignore": "!gen/\n"},
        ["gen/a.py", "gen/d/b.py"],
        [],
    ),
    "launchignore brings a file in a folder back": (
        {".gitignore": "data/\n", ".launchignore": "!data/small/*.csv\n"},
        ["data/small/a.csv"],
        ["data/big.csv", "data/small/a.h5", "data/other/a.csv"],
    ),
    "launchignore brings back from its own rule": (
        {".launchignore": "data/\n!data/small.csv\n"},
        ["data/small.csv"],
        ["data/big.csv"],
    ),
    "a name alone reaches into no folder": (
        {".gitignore": "build/\n*.csv\n", ".launchignore": "!*.csv\n"},
        ["a.csv"],
        ["build/a.csv"],
    ),
    "nested launchignore": (
        {".launchignore": "*.csv\n", "d/.launchignore": "!*.csv\n"},
        ["d/a.csv"],
        ["a.csv"],
    ),
    "lines that git cannot read": ({".gitignore": "!\nfoo\\\n[\n*.h5\n"}, ["a.py"], ["m.h5"]),
    "windows line ends and a byte order mark": (
        {".gitignore": b"\xef\xbb\xbf*.h5\r\n*.csv\r\n"},
        ["a.py"],
        ["m.h5", "a.csv"],
    ),
    "never, whatever the rules say": (
        {".launchignore": "!.env\n!.git/\n!*.key\n"},
        ["a.py"],
        [".env", ".git/config", "server.key"],
    ),
}


@pytest.mark.parametrize(("rules", "kept", "behind"), IGNORE_TABLE.values(), ids=IGNORE_TABLE)
def test_ignore_files_decide_what_travels(
    scanned: Scanned,
    rules: dict[str, str | bytes],
    kept: list[str],
    behind: list[str],
) -> None:
    bundle = scanned({**dict.fromkeys([*kept, *behind], "x"), **rules})
    assert set(kept) <= set(user_files(bundle))
    assert not set(behind) & set(user_files(bundle))
    for path in behind:
        assert why_left_out(bundle, path)
    for path in kept:
        assert why_left_out(bundle, path) == ""


SEGMENTS = st.sampled_from(["a", "b", "out", "x.py", "y.h5", "*", "*.py", "?", "a*", "**", "[ab]"])
LINES = st.builds(
    lambda no, lead, parts, tail: no + lead + "/".join(parts) + tail,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(SEGMENTS, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)
PLAIN = st.sampled_from(["a", "b", "out", "x.py", "y.h5", "c"])


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    paths=st.lists(st.lists(PLAIN, min_size=1, max_size=4).map("/".join), min_size=1, max_size=8),
    rules=st.dictionaries(
        st.sampled_from(["", "a/", "out/", "a/b/"]), st.lists(LINES, max_size=4), max_size=3
    ),
)
def test_gitignore_files_mean_what_git_takes_them_to_mean(
    paths: list[str],
    rules: dict[str, list[str]],
    tmp_path_factory: pytest.TempPathFactory,
    entrypoints: Path,
) -> None:
    tree = {p: "x" for p in paths if not any(q.startswith(p + "/") for q in paths)}
    for folder, lines in rules.items():
        if folder.rstrip("/") not in tree and not any(folder.startswith(p + "/") for p in tree):
            tree[f"{folder}.gitignore"] = "\n".join(lines) + "\n"
    source = plant(tmp_path_factory.mktemp("tree"), tree)
    subprocess.run(["git", "init", "-q", str(source)], check=True)
    # --exclude-per-directory alone: no file of this machine's user counts.
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"],
        cwd=source,
        capture_output=True,
        text=True,
        check=True,
    )
    assert user_files(scan(source, entrypoints)) == sorted(filter(None, listed.stdout.split("\0")))


def test_the_rules_of_the_repository_around_the_source_hold(
    tmp_path: Path, entrypoints: Path
) -> None:
    repository = plant(
        tmp_path / "repository",
        {
            ".git/HEAD": "x",
            ".gitignore": "*.h5\n/jobs/a/data/\n",
            "jobs/.gitignore": "!best.h5\n*.tmp\n",
            "jobs/a/train.py": "x",
            "jobs/a/m.h5": "x",
            "jobs/a/best.h5": "x",
            "jobs/a/data/x": "x",
            "jobs/a/y.tmp": "x",
        },
    )
    bundle = scan(repository / "jobs" / "a", entrypoints)
    assert user_files(bundle) == ["best.h5", "train.py"]
    assert left_out(bundle) == {
        "data/": "by ../../.gitignore",
        "m.h5": "by ../../.gitignore",
        "y.tmp": "by ../.gitignore",
    }


def test_a_source_that_the_repository_ignores_travels_all_the_same(
    tmp_path: Path, entrypoints: Path
) -> None:
    tree = {".git/HEAD": "x", ".gitignore": "*\n", "trial/train.py": "x", "trial/m.h5": "x"}
    repository = plant(tmp_path / "repository", tree)
    assert user_files(scan(repository / "trial", entrypoints)) == ["m.h5", "train.py"]
