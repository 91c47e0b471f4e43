"""PUF315: rewards that are lost, as counted where they are stored."""
