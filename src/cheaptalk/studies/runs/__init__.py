"""Run planned matches, scripted and live, and report progress."""
