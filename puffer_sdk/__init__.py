"""puffer-sdk: write reinforcement-learning environments in C, find their bugs, train on them."""
__version__ = "0.1.0"
