"""The researchers' console: who may come in, and the pages of a laboratory's studies."""
