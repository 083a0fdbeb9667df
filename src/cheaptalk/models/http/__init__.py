"""Models over HTTP: one module for each protocol, all over one wire."""
