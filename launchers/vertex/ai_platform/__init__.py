"""Configuration files of the old AI Platform, made into a launch.yaml."""
