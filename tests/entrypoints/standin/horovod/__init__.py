"""A stand-in for Horovod, for tests of what surrounds it: the same modules, and no training."""

__version__ = "0.0.standin"
