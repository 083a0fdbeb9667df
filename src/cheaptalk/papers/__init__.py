"""The published systems, a room each: recipe, importer, presets and rosters of a paper."""
