"""Texts with credentials and texts with none, put together at run time: see `texts.py`."""
