"""Pictures in Parquet for Lightning: a data module, of ``lightning`` or ``pytorch_lightning``.

    trainer.fit(model, PictureDataModule("OUT", batch_size=64, workers=2))

It is of the package whose Trainer the program has imported; ``module_for`` gives the other's.
The ranks' parts are divided here, and Trainer's ``use_distributed_sampler`` changes nothing, since
the loaders are no DataLoaders. Where the run is in the training data goes into every checkpoint.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import replace
from typing import Any, Mapping

from ..errors import TrainingError
from .decoding_ahead import PictureForm
from .division import DROP, PAD
from .pytorch_loader import PictureLoader, picture_loader

PACKAGES = ("lightning.pytorch", "pytorch_lightning")
_TRAINING = "training"


class _Pictures:
    """What the data module does, whatever package its base is of."""

    def __init__(
        self,
        place: str,
        batch_size: int = 64,
        size: tuple[int, int] = (224, 224),
        workers: int = 0,
        seed: int = 0,
        remainder: str = DROP,
        steps: int | None = None,
        form: PictureForm | None = None,
        evaluation_form: PictureForm | None = None,
        evaluation_batch_size: int | None = None,
        predict_split: str = "test",
        pin_memory: bool = False,
        ahead_bytes: int = 256 << 20,
    ) -> None:
        """Opens nothing yet: ranks are known once Trainer has joined them.

        Args:
            place: A folder, s3://... or gs://... that ``open_place`` knows.
            batch_size: Pictures of a training batch, of each rank.
            size: (height, width); used where no form is given.
            workers: Processes beside each rank, for each loader; 0 uses threads alone.
            seed: Of every order and of the augmentation.
            remainder: Of training, "drop" or "pad". The others pad: a batch of theirs is
                (images, labels, weights), weight 0 for a picture that is repeated.
            steps: Batches of what Trainer calls an epoch, endlessly over the data, the seed's way;
                one epoch of the data for None. ``limit_train_batches`` cuts either: what follows
                a cut is the next epoch, or with ``steps`` the next picture.
            form: What is made of a training picture, with its augmentation.
            evaluation_form: Of another one; without augmentation for None.
            evaluation_batch_size: As for training for None.
            predict_split: The split that ``predict`` reads, in the order of the files.
            pin_memory: As DataLoader's.
            ahead_bytes: Of encoded pictures that each process holds, roughly.
        """
        super().__init__()
        self._place, self._steps, self._remainder = place, steps, remainder
        self._batch_sizes = (batch_size, evaluation_batch_size or batch_size)
        self._form = form or PictureForm(size=size)
        self._evaluation_form = evaluation_form or _plain(self._form)
        self._predict_split = predict_split
        self._common: dict[str, Any] = {
            "workers": workers,
            "seed": seed,
            "pin_memory": pin_memory,
            "ahead_bytes": ahead_bytes,
        }
        self._loaders: dict[str, PictureLoader] = {}
        self._loaded: Mapping[str, Any] | None = None

    def train_dataloader(self) -> PictureLoader:
        """The training pictures of this rank, from where the run is."""
        if _TRAINING not in self._loaders:
            loader = picture_loader(
                self._place,
                batch_size=self._batch_sizes[0],
                form=self._form,
                remainder=self._remainder,
                steps=self._steps,
                **self._common,
            )
            if self._loaded is not None:
                loader.load_state_dict(self._loaded)
            self._loaders[_TRAINING] = loader
        return self._loaders[_TRAINING]

    def val_dataloader(self) -> PictureLoader:
        """The validation pictures of this rank, each time the same ones."""
        return self._evaluation("validation")

    def test_dataloader(self) -> PictureLoader:
        """The test pictures of this rank."""
        return self._evaluation("test")

    def predict_dataloader(self) -> PictureLoader:
        """The pictures of this rank to predict, a contiguous range of the files' rows."""
        return self._evaluation(self._predict_split)

    def state_dict(self) -> dict[str, Any]:
        """Where all ranks are in the training data; Lightning puts it into each checkpoint."""
        loader = self._loaders.get(_TRAINING)
        if loader is not None:
            return {_TRAINING: loader.state_dict()}
        return {} if self._loaded is None else {_TRAINING: self._loaded}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The next training batch begins at that very picture.

        Raises:
            TrainingError: The state is of other data, or none.
        """
        self._loaded = state_dict.get(_TRAINING)
        if self._loaded is not None and _TRAINING in self._loaders:
            self._loaders[_TRAINING].load_state_dict(self._loaded)

    def teardown(self, stage: str) -> None:
        """Ends all workers; Trainer calls it. Where the training is stays known."""
        for loader in self._loaders.values():
            loader.close()

    def _evaluation(self, split: str) -> PictureLoader:
        if split not in self._loaders:
            self._loaders[split] = picture_loader(
                self._place,
                split=split,
                batch_size=self._batch_sizes[1],
                form=self._evaluation_form,
                remainder=PAD,
                shuffle=False,
                **self._common,
            )
        return self._loaders[split]


def module_for(package: str) -> type[Any]:
    """The data module's class for "lightning.pytorch" or "pytorch_lightning".

    Raises:
        TrainingError: That package can't be imported.
    """
    try:
        base = importlib.import_module(package).LightningDataModule
    except ImportError as error:
        raise TrainingError(
            f"{package} cannot be imported ({error}): pip install lightning"
        ) from error
    return type("PictureDataModule", (_Pictures, base), {"__module__": __name__})


def _package() -> str:
    """The package that the program uses: imported already, else installed."""
    for name in PACKAGES:
        if name in sys.modules:
            return name
    return next((name for name in PACKAGES if _is_installed(name)), PACKAGES[0])


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # lightning.pytorch where there is no lightning
        return False


def _plain(form: PictureForm) -> PictureForm:
    return replace(form, augment=(), transform=None)


PictureDataModule = module_for(_package())
