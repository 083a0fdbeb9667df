"""Game tables in the browser: links, lobbies, pages and the web server."""
