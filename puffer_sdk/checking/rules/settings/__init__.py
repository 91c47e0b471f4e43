"""PUF113, 114: other values of [env].  other_values.c plays them."""
