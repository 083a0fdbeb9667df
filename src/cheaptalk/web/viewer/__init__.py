"""Reading a store in the browser."""
