"""Ledger of model calls, which are recorded before they are sent, and their costs."""
