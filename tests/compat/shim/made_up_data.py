"""Small made-up data behind the loaders of Keras and torchvision.

A loader's module is changed right after it was imported, so that every name by which a script
reaches it (``tf.keras.datasets``, ``keras.datasets``, ``from ... import mnist``) gives the same.
"""

import importlib.abc
import importlib.machinery
import os
import sys

_LOADERS = {
    "mnist": lambda: _images((28, 28), 10, ()),
    "fashion_mnist": lambda: _images((28, 28), 10, ()),
    "cifar10": lambda: _images((32, 32, 3), 10, (1,)),
    "cifar100": lambda: _images((32, 32, 3), 100, (1,)),
    "imdb": lambda: _reviews(),
}


def install():
    """Puts the hook in; nothing is imported yet."""
    sys.meta_path.insert(0, _Finder())


def _count():
    return int(os.environ["COMPAT_IMAGES"])


def _images(shape, classes, label_shape):
    """Two pairs of images (0 to 255, uint8) and labels; the same ones in every process."""
    import numpy

    random = numpy.random.RandomState(7)
    patterns = random.randint(0, 192, size=(classes, *shape))

    def some(count):
        labels = random.randint(0, classes, size=count)
        images = patterns[labels] + random.randint(0, 64, size=(count, *shape))
        return images.astype("uint8"), labels.astype("uint8").reshape(count, *label_shape)

    return some(_count()), some(_count() // 2)


def _reviews():
    import numpy

    random = numpy.random.RandomState(7)

    def some(count):
        labels = random.randint(0, 2, size=count)
        texts = [list(random.randint(1, 1000, size=50) + 9000 * label) for label in labels]
        reviews = numpy.empty(count, dtype=object)
        reviews[:] = texts
        return reviews, labels

    return some(_count()), some(_count() // 2)


def _of_keras(module, name):
    def load_data(*arguments, **named):
        return _LOADERS[name]()

    module.load_data = load_data


def _of_torchvision(module):
    def made_up(name):
        class MadeUp:
            """Stands for torchvision's data set of the same name."""

            classes = tuple(range(10))

            def __init__(self, root="", train=True, transform=None, **named):
                self.transform = transform
                pairs = _LOADERS[name]()
                self.data, self.targets = pairs[0 if train else 1]

            def __len__(self):
                return len(self.targets)

            def __getitem__(self, index):
                from PIL import Image

                image = Image.fromarray(self.data[index])
                image = self.transform(image) if self.transform else image
                return image, int(self.targets[index].item())

        return MadeUp

    for called, name in (
        ("MNIST", "mnist"),
        ("FashionMNIST", "fashion_mnist"),
        ("CIFAR10", "cifar10"),
        ("CIFAR100", "cifar100"),
    ):
        setattr(module, called, made_up(name))


def _change(module):
    parts = module.__name__.split(".")
    if module.__name__ == "torchvision.datasets":
        _of_torchvision(module)
    elif parts[-2:-1] == ["datasets"] and parts[-1] in _LOADERS and hasattr(module, "load_data"):
        _of_keras(module, parts[-1])


class _Finder(importlib.abc.MetaPathFinder):
    """Lets the other finders find, and looks at what they found once it was executed."""

    def find_spec(self, name, path=None, target=None):
        wanted = name == "torchvision.datasets" or ".datasets." in name
        if not wanted:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader(importlib.abc.Loader):
    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        _change(module)

    def __getattr__(self, name):
        return getattr(self._loader, name)
