"""Inspect AI: every game as a task, and recorded matches as logs for its viewer."""
