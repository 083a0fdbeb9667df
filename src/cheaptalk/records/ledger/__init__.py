"""Ledger of model calls and their costs; each call is recorded before it is sent."""
