"""A laboratory on a server: studies with runs and outputs, and researchers' accounts."""
