"""What a shell offers at a press of the tab key: verbs, flags and their values, offline."""

# A shell that asks sets it, to `bash_complete` and its like.
VARIABLE = "_LAUNCH_COMPLETE"
