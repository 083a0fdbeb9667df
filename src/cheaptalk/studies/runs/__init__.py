"""Runs of planned matches, scripted and live, with progress reports."""
