"""Texts of the pages for participants: languages, Markdown, images and page templates."""
