"""A language model at the table: its settings, its conversation and what becomes of its replies."""
