"""Commands on what was played: show, view, judge, label, report, compare, profile and more."""
