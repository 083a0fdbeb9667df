"""Trainers of language models, on this machine or at a provider."""
