"""Calls to models: dispatcher, budgets, cache, batches and control of a run."""
