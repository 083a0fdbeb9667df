"""A laboratory: a folder of studies that are run from a server."""
