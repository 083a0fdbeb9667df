"""Bots that play in the browser without one: they read pages, fill in forms and follow links."""
