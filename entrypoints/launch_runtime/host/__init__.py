"""The agent's side: one process a host, which brings its ranks together with all others."""
