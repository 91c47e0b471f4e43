"""PUF307: bytes that wrap around."""
