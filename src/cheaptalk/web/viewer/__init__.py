"""A web application for reading a store in the browser."""
