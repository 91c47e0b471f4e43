"""check --fix: edits of the author's files. Each rule says which of them fix its findings.

    edits       what an edit and a fix are; places in a text
    remedies    how code and inis are changed
    fixing      the fixes of a result: chosen, shown, written
"""
