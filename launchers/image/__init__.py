"""The image that ranks run in: build, push, check."""
