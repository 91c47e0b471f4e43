"""PUF302: observations that are old."""
