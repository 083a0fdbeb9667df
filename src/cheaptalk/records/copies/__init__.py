"""Copies of stored data: complete stores, archives, and pooled studies."""
