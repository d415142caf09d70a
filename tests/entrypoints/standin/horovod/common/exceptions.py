class HorovodInternalError(RuntimeError):
    pass
