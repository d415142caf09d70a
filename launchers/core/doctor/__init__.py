"""`launch doctor`: what a job needs, looked at without a job."""
