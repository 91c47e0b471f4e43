"""PUF308: elements of the observation that hold the same number."""
