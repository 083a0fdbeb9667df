"""Commands that plan and play: plan, run, resume, ctl, batches, cache, status and play."""
