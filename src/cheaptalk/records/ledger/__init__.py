"""The ledger: calls to models, an intent before each, and what they took."""
