"""Commands on what was played: show, view, judge, label, report, compare, export and more."""
