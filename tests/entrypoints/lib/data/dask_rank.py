"""A rank for tests: takes batches of Dask's workers and says each; after the first one it waits.

python dask_rank.py SCHEDULER PLACE EPOCHS
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
sys.path[:0] = [str(ROOT), str(ROOT / "entrypoints")]


def main(scheduler: str, place: str, epochs: str) -> None:
    from tests.entrypoints.lib.data.dask_processes import environment_of_ranks

    os.environ.update(environment_of_ranks())
    from lib.data.dask_augmentation import Augmentation, AugmentedReader
    from lib.data.division import Division
    from lib.data.parquet_place import open_place
    from lib.data.reader import PictureReader

    division = Division(batch_size=8, block_groups=3, remainder="uneven")
    how = Augmentation((8, 6), augment=("crop", "flip", "rotate", "color"), seed=5)
    reader = PictureReader(open_place(place), division, seed=3)
    batches = AugmentedReader(reader, scheduler, how, read_ahead=4).batches(epochs=int(epochs))
    for number, batch in enumerate(batches):
        line = {"rows": batch.rows.tolist(), "sum": int(batch.images.sum())}
        print(json.dumps(line), flush=True)
        if number == 0:
            sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
