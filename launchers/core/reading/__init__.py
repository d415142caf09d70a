"""From launch.yaml, sweeps and values to a JobSpec."""
