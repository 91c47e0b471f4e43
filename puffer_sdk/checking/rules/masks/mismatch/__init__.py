"""PUF413: an action mask that does not fit the actions."""
