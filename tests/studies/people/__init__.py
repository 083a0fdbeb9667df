"""Protocols of human studies: questions, paths, texts and templates of pages."""
