"""The public scripts of `make compat`: where each lies, what is changed, what must come of it.

None of them is kept here: a script is named by repository, commit and path.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

SCRIPTS = Path(__file__).with_name("scripts.yaml")

AS_IS = "as it is"
UNWRAPPED = "not wrapped"
NOT_BROADCAST = "not broadcast"
VARIANTS = (AS_IS, UNWRAPPED, NOT_BROADCAST)
OUTCOMES = ("succeeded", "failed")


@dataclass(frozen=True)
class Script:
    """One public script.

    Attributes:
        name: A short name, one of a kind in the manifest.
        repository: OWNER/NAME on GitHub.
        commit: The whole commit id.
        path: The script in that commit.
        files: Other files of that commit that it imports, laid beside it.
        framework: ``tensorflow`` or ``torch``: which Python runs it.
        flags: More flags of `launch local`.
        arguments: The script's own arguments.
        environment: Variables for the ranks.
        requirements: Packages that `launch local` installs for the job.
        data: Files to make where the script reads them: path -> what (see ``data.py``).
        replace: Literal text -> text, in every file; each must be found.
        drop: Lines that contain one of these texts are left out.
        unwrapped: More replacements where the wrapping is taken out.
        not_broadcast: More replacements where the broadcast is taken out.
        expect: Variant -> outcome; a variant that is not named is not run.
        note: What a reader of the table should know.
    """

    name: str
    repository: str
    commit: str
    path: str
    files: tuple[str, ...] = ()
    framework: str = "tensorflow"
    flags: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    data: dict[str, str] = field(default_factory=dict)
    replace: dict[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    unwrapped: dict[str, str] = field(default_factory=dict)
    not_broadcast: dict[str, str] = field(default_factory=dict)
    expect: dict[str, str] = field(default_factory=dict)
    note: str = ""


def load(path: Path = SCRIPTS) -> list[Script]:
    """All scripts, in the manifest's order.

    A commit that is written once for a repository (``commits``) counts for all its scripts.

    Raises:
        ValueError: A key, variant or outcome that does not exist, or a name used twice.
    """
    document = yaml.safe_load(path.read_text())
    commits = document["commits"]
    scripts = [_script(entry, commits) for entry in document["scripts"]]
    names = [script.name for script in scripts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: used twice: {', '.join(twice)}")
    return scripts


def _script(entry: dict, commits: dict[str, str]) -> Script:
    lists = {key: tuple(str(item) for item in entry.pop(key, ())) for key in _LISTS}
    script = Script(commit=commits[entry["repository"]], **lists, **entry)
    for variant, outcome in script.expect.items():
        if variant not in VARIANTS or outcome not in OUTCOMES:
            raise ValueError(f"{script.name}: expect {variant}: {outcome} is not known")
    return script


_LISTS: Iterable[str] = ("files", "flags", "arguments", "requirements", "drop")
