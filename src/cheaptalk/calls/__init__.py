"""Model calls of a run: dispatcher, budgets, response cache, provider batches and run control."""
