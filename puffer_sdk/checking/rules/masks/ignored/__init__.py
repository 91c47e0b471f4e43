"""PUF411: choices that change nothing."""
