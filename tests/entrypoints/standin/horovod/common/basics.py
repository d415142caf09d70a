"""The stand-in for the class that every binding of Horovod shares.

It takes its place from the same variables as Horovod 0.28.1 and falls back to rank 0 of 1 in the
same cases. STANDIN_BUILT says what it was built with (default "gloo").
"""

import os


class HorovodBasics:
    def __init__(self):
        self._built = os.environ.get("STANDIN_BUILT", "gloo").split(",")
        self._place = None
        self._mpi = False

    def init(self, comm=None, process_sets=None):
        if os.environ.get("STANDIN_CRASH"):
            os.abort()
        controller = os.environ.get("HOROVOD_CONTROLLER", "mpi" if self.mpi_built() else "gloo")
        self._mpi = controller == "mpi" and self.mpi_built()
        form = "OMPI_COMM_WORLD_{}" if self._mpi else "HOROVOD_{}"
        if controller not in self._built or os.environ.get("STANDIN_OTHER_MPI"):
            form = "NOTHING_{}"
        names = ("SIZE", "RANK", "LOCAL_SIZE", "LOCAL_RANK")
        self._place = [
            int(os.environ.get(form.format(name), default))
            for name, default in {**dict.fromkeys(names, 0), "SIZE": 1, "LOCAL_SIZE": 1}.items()
        ]
        if comm:
            self._place[0] = len(comm)

    def shutdown(self):
        self._place = None

    def is_initialized(self):
        return self._place is not None

    def size(self):
        return self._place[0]

    def rank(self):
        return self._place[1]

    def local_size(self):
        return self._place[2]

    def local_rank(self):
        return self._place[3]

    def mpi_enabled(self):
        return self._mpi

    def gloo_enabled(self):
        return not self._mpi

    def mpi_built(self):
        return "mpi" in self._built

    def gloo_built(self):
        return "gloo" in self._built
