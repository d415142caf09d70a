"""The documents of other tools in which a CustomJob lies."""
