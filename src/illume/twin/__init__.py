"""What stands for the model: read from it exactly, or learned from its answers.

Nothing above this package asks which of the two it is. Frames, schemas and answers come from `data`.
"""
