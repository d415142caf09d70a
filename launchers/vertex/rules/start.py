"""How a replica starts: our bootstrap and its three words, the same in every pool with ranks."""

from __future__ import annotations

import re
from itertools import pairwise

from launchers.core.model.problems import Problem
from launchers.vertex.catalogue import RULES
from launchers.vertex.document import MODULE_FLAG, bootstrap, words_of
from launchers.vertex.rules.image import is_reduction_server
from launchers.vertex.rules.pools import Pool, pools, rank_pools

_SHA256 = r"[0-9a-f]{64}"
_BUNDLE = re.compile(rf"/gcs/[^/]+/(?:.+/)?(?P<sha256>{_SHA256})/sourcedir\.tar\.gz")


def check_start(document: object, ours: bool) -> list[Problem]:
    """Rules about our own way of starting, where the document says itself that it is ours."""
    if not ours:
        return []
    starting = rank_pools(document)
    problems: list[Problem] = []
    for pool in starting:
        problems += _command(pool) + _words(pool)
    for first, second in pairwise(starting):
        problems += _same(second, first)
    for pool in pools(document):
        if not pool.holds_ranks:
            problems += _reduction_server(pool)
    return problems


def starts_agent(pool: Pool) -> bool:
    """Whether the pool's replicas run the bootstrap, and so our agent."""
    return pool.task.get("command") == ["python3", "-c", bootstrap()]


def words_in(pool: Pool) -> list[str]:
    """The script, or ``-m`` and a module, with the arguments that the agent of a pool gets; empty
    where nobody says."""
    return words_of(pool.words("args")) if starts_agent(pool) else []


def _command(pool: Pool) -> list[Problem]:
    if starts_agent(pool):
        return []
    path = f"{pool.task_path}.command"
    expected = '["python3", "-c", the text of templates/vertex/bootstrap.py]'
    fix = "it unpacks the bundle, checks its hash and becomes the agent"
    return [RULES["start-agent"].at(path, "another command", expected, fix)]


def _words(pool: Pool) -> list[Problem]:
    if not starts_agent(pool):
        return []
    path = f"{pool.task_path}.args"
    words = pool.words("args")
    if len(words) != 3 or pool.task.get("args") != words:
        expected = "three: the bundle, its hash, the script with its arguments"
        return [RULES["start-words"].at(path, f"{len(words)} texts", expected)]
    problems = []
    bundle, sha256, script = words
    match = _BUNDLE.fullmatch(bundle)
    if match is None:
        expected = "/gcs/BUCKET/launch/code/SHA256/sourcedir.tar.gz"
        problems.append(RULES["start-bundle"].at(f"{path}[0]", bundle[:80], expected))
    if not re.fullmatch(_SHA256, sha256) or (match and match["sha256"] != sha256):
        expected = "the hash that the bundle's folder has: 64 hexadecimal digits"
        problems.append(RULES["start-bundle"].at(f"{path}[1]", sha256[:64], expected))
    if words_in(pool) in ([], [MODULE_FLAG]):
        expected = "a JSON list of texts: the script, or -m and a module, first"
        problems.append(RULES["start-script"].at(f"{path}[2]", "something else", expected))
    elif "$" in script:
        fix = "the service puts a variable's value for $(NAME)"
        problems.append(
            RULES["start-script"].at(f"{path}[2]", "a $", "each $ written as \\u0024", fix)
        )
    return problems


def _same(pool: Pool, first: Pool) -> list[Problem]:
    """All replicas with ranks run one thing: what the first pool runs."""
    problems = []
    for key in ("imageUri", "command", "args"):
        if pool.task.get(key) != first.task.get(key):
            found = f"another {key} than the first pool's"
            where = f"{pool.task_path}.{key}"
            problems.append(RULES["pools-unlike"].at(where, found, "the same"))
    ours, theirs = dict(pool.environment), dict(first.environment)
    for name in sorted({*ours, *theirs}):
        if ours.get(name) != theirs.get(name):
            found = "missing" if name not in ours else "another value than in the first pool"
            where = f"{pool.task_path}.env.{name[:60]}"
            expected = "the same in both" if name in theirs else "no such variable, as there"
            problems.append(RULES["pools-unlike"].at(where, found, expected))
    return problems


def _reduction_server(pool: Pool) -> list[Problem]:
    if is_reduction_server(pool) and not pool.words("command", "args"):
        return []
    return [
        RULES["start-agent"].at(
            pool.task_path,
            "a pool beside the ranks that is no reduction server",
            "Google's reduction server with its own start, or no such pool",
            "nothing there joins the job",
        )
    ]
