"""Bots that play through the web pages without a browser."""
