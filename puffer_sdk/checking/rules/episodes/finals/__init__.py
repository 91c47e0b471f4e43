"""PUF323: wrong rows of final_observations at truncations."""
