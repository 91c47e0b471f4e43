"""PUF323: wrong rows of final_observations at truncations.

    blank       nothing
    partly      not the whole row
    next_one    the first observation of the next episode
"""
