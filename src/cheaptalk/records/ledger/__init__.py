"""The ledger: model calls, recorded before they are sent, and their costs."""
