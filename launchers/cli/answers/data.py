"""Pictures as Parquet: what was converted, what a place holds, a contact sheet."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from launchers.cli.answers.problems import ProblemAnswer


class LeftOutPicture(TypedDict):
    """A picture that is not in the place."""

    path: Annotated[str, "Below the folder of the pictures."]
    reason: str


class ConvertedSplit(TypedDict):
    """One split that was written."""

    name: str
    rows: int
    bytes: Annotated[int, "Of the pictures' content."]
    files: Annotated[int, "How many."]


class ConvertedAnswer(TypedDict):
    """Pictures that became Parquet."""

    place: str
    made: Annotated[bool, "False where the same command had finished before."]
    classes: Annotated[list[str], "Their names; a label is a position here."]
    splits: list[ConvertedSplit]
    pictures: Annotated[int, "That were read."]
    rows: Annotated[int, "That were written, augmented copies included."]
    left_out: Annotated[list[LeftOutPicture], "Empty where `made` is false; the manifest has all."]
    seconds: Annotated[float | None, "Null where nothing was to be done."]
    rate: Annotated[float | None, "Pictures a second."]


class DataFileAnswer(TypedDict):
    """One Parquet file."""

    name: Annotated[str, "Below the place."]
    rows: int
    bytes: int
    sha256: Annotated[str, "Empty where the place has no manifest."]
    row_groups: Annotated[list[int], "Rows of each."]


class FedRanks(TypedDict):
    """How a number of ranks is fed from a split in one epoch, with `--remainder drop`."""

    ranks: int
    rows: Annotated[int, "Of each rank."]
    steps: Annotated[int, "Of each rank."]
    last_batch: Annotated[int, "Rows of each rank's last batch."]
    left_over: Annotated[int, "Rows that no rank reads; others in each epoch."]
    repeated: Annotated[int, "Rows that are read twice with `--remainder pad`."]


class DataSplitAnswer(TypedDict):
    """One split of a place."""

    name: Annotated[str, "Empty for Parquet files without a manifest that lie in no folder train."]
    rows: int
    counts: Annotated[list[int], "Rows of each class, in the order of `classes`."]
    files: list[DataFileAnswer]
    fed: list[FedRanks]


class DataInfoAnswer(TypedDict):
    """What a place of pictures holds."""

    place: str
    manifest: Annotated[bool, "Whether it has one."]
    classes: Annotated[list[str], "Their names; without a manifest the labels that occur."]
    splits: list[DataSplitAnswer]
    batch_size: Annotated[int, "Rows of a step."]
    made: Annotated[dict[str, Any], "How it was made, as the manifest has it."]
    left_out: list[LeftOutPicture]
    verified: Annotated[bool, "Whether the files' hashes were compared, by `--verify`."]
    problems: Annotated[list[ProblemAnswer], "Warnings."]


class ContactSheetAnswer(TypedDict):
    """A contact sheet that was written."""

    file: Annotated[str, "A PNG picture."]
    split: Annotated[str, "Empty where the place has no splits."]
    shown: Annotated[int, "Pictures on it."]
    not_decoded: Annotated[int, "Of these, how many are no pictures."]
    rows: Annotated[int, "Of which the sample was drawn."]
    seed: int
