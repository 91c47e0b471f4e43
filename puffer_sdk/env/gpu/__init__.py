"""An environment as a program for a GPU: its C becomes C++ that NVIDIA's compiler takes.

    text_edits    changes to a text at known offsets
    initializers  rewrites initializers that C++ refuses
    rewrite       rewrites C constructs that C++ lacks
    translate     preprocessed C -> the simulation only, as C++
    programs      compile it, for a GPU or emulated on the CPU
"""
