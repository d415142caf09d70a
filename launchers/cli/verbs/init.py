"""`launch init`: a commented launch.yaml and a small train.py to begin with."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from launchers.cli.catalogue import RULES
from launchers.cli.completion.values import of_metavar
from launchers.cli.show.output import answer, say
from launchers.cli.verb import Verb
from launchers.core.model.problems import LaunchError
from launchers.core.paths import templates_folder, writing
from launchers.core.strategies import FIRST, NAMES

_FILES = ("launch.yaml", "train.py")
# The one value of the example that means nothing to other frameworks, and what stands there then.
_TENSORFLOWS, _OTHERS = "TF_CPP_MIN_LOG_LEVEL: 2", "OMP_NUM_THREADS: 1"


def _examples() -> list[str]:
    """The strategies with a script to begin with: others than the first have a folder for it."""
    folder = templates_folder() / "init"
    return [name for name in NAMES if name == FIRST or (folder / name).is_dir()]


@click.command(
    "init",
    cls=Verb,
    examples=(
        "launch init",
        "launch init --strategy torch my-job",
    ),
    help="Write a commented launch.yaml and a small train.py.",
)
@click.argument("folder", default=".", metavar="[FOLDER]", shell_complete=of_metavar("FOLDER"))
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option(
    "--strategy",
    type=click.Choice(_examples()),
    default=FIRST,
    help=f"By what the script's ranks train. Default: {FIRST}.",
)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def command(folder: str, force: bool, strategy: str, as_json: bool) -> int:
    """Write the two files; none where one of them is already there."""
    target = Path(folder)
    with writing(target):
        there = [name for name in _FILES if (target / name).exists()]
    if there and not force:
        raise LaunchError(
            RULES["init-exists"].at(str(target / name), "a file that is already there")
            for name in there
        )
    with writing(target):
        target.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        _write(target / name, _text(strategy, name))
    written, following = [str(target / name) for name in _FILES], "launch local --instances 2"
    if target.resolve() != Path.cwd():
        following = f"cd {shlex.quote(folder)} && {following}"
    say(f"wrote {' and '.join(written)}")
    say(f"next: {following}")
    if as_json:
        answer({"written": written, "next": following})
    return 0


def _write(file: Path, text: str) -> None:
    """A link is followed, and one that leads nowhere is told by where it leads."""
    link = file.is_symlink() and not file.exists()
    fix = f"it is a link to {os.readlink(file)}: remove it" if link else ""
    with writing(file, fix, "a file that you may write"):
        file.write_text(text, encoding="utf-8")


def _text(strategy: str, name: str) -> str:
    folder = templates_folder() / "init"
    own = folder / strategy / name
    text = (own if own.is_file() else folder / name).read_text(encoding="utf-8")
    return text if strategy == FIRST else text.replace(_TENSORFLOWS, _OTHERS)
