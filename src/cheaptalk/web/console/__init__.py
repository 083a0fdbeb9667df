"""The researchers' console: logins, and the pages of a laboratory's studies."""
