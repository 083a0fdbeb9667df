"""Replication of GAMA-Bench (Huang et al. 2025): eight games for many players."""

from cheaptalk.yaml_files import yaml_files

PRESETS = yaml_files(__file__, "presets")
ROSTERS = yaml_files(__file__, "rosters")
