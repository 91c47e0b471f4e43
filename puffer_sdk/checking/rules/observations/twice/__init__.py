"""PUF308: elements of the observation that hold the same number.

    same_number         two elements, in all rows
    same_part           two named parts of several elements
    of_each_agent       three or more of each agent, in places of its own
"""
