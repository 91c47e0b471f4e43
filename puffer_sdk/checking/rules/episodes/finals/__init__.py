"""PUF323: what an env leaves in final_observations when it cuts an episode off.

    blank       nothing
    partly      not the whole row
    next_one    the first observation of the next episode
"""
