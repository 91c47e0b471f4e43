"""PUF305: elements of the observation that never change."""
