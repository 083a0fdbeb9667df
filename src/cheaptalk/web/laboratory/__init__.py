"""The laboratory's own database: accounts, logins, drafts of studies, and the log of deeds."""
