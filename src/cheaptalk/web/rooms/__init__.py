"""Tables at which people play in the browser: links, lobbies, pages, and the server behind them."""
