"""From a JobSpec to the plan of a training job."""
