"""The metrics of a profile, and their inputs."""
