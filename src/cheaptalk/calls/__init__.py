"""The path of a call: desk, money, pace, cache, batches, and the orders that a run takes."""
