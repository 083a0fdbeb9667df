"""Types of the names of built-in objects; for editors, ``names.pyi`` lists the names.

The types accept any string, because packages can register more names.
"""

ExportForm = GameName = PresetName = RecipeName = RosterName = RubricName = StrategyName = str
