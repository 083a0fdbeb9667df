"""GAMA-Bench (Huang et al. 2025): eight games for many players, scored from 0 to 100."""

from cheaptalk.yaml_files import yaml_files

PRESETS = yaml_files(__file__, "presets")
ROSTERS = yaml_files(__file__, "rosters")
