"""A framework's binding, built like Horovod's own: functions of one HorovodBasics."""

from horovod.common.basics import HorovodBasics
from horovod.common.exceptions import HorovodInternalError  # noqa: F401

_basics = HorovodBasics()
init = _basics.init
shutdown = _basics.shutdown
is_initialized = _basics.is_initialized
size = _basics.size
rank = _basics.rank
local_size = _basics.local_size
local_rank = _basics.local_rank
