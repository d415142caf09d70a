"""Gives public scripts small made-up data where they would download some.

Python imports a module of this name at every start; `make compat` puts this folder on the ranks'
PYTHONPATH. Nothing but the loaders of data is replaced, and only where COMPAT_IMAGES is set.
"""

import os
import sys

if "COMPAT_IMAGES" in os.environ:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import made_up_data

    sys.path.pop(0)
    made_up_data.install()
