"""Commands on results: show, judge, report, compare, profile, export, import and more."""
