"""`launch init`: a commented launch.yaml and a small train.py to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from launchers.cli.catalogue import RULES
from launchers.cli.show.output import say
from launchers.core.model.problems import LaunchError
from launchers.core.paths import templates_folder, writing

_FILES = ("launch.yaml", "train.py")


@click.command("init", help="Write a commented launch.yaml and a small train.py.")
@click.argument("folder", default=".", metavar="[FOLDER]")
@click.option("--force", is_flag=True, help="Write over files that are there.")
def command(folder: str, force: bool) -> int:
    """Write the two files; none where one of them is already there."""
    target = Path(folder)
    there = [name for name in _FILES if (target / name).exists()]
    if there and not force:
        raise LaunchError(
            RULES["init-exists"].at(str(target / name), "a file that is already there")
            for name in there
        )
    with writing(target):
        target.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            text = (templates_folder() / "init" / name).read_text(encoding="utf-8")
            (target / name).write_text(text, encoding="utf-8")
    say(f"wrote {' and '.join(str(target / name) for name in _FILES)}")
    say("next: launch local --instances 2")
    return 0
