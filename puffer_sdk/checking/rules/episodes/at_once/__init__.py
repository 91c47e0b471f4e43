"""PUF408: episodes that are over after one step."""
