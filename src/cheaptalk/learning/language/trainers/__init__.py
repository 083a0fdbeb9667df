"""Trainers of language models: local, or at a provider."""
