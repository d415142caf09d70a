"""The guard's side: one process a rank, in which the user's script runs."""
