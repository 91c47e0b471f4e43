"""PUF409: one agent's data in another agent's row."""
