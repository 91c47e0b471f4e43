"""check --mutate: plant faults in a copy of an environment, and see who notices.

    mutant           what a mutant is; the operators
    reading          what an environment's expressions mean
    mutations        where each operator can be applied
    bench            a copy of the project, where one mutant at a time is tried
    mutation_score   many mutants, and who caught them
    mutation_report  the result for people
"""
