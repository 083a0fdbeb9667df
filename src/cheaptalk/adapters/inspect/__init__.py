"""Adapter to Inspect AI that turns games into tasks and recorded matches into logs."""
