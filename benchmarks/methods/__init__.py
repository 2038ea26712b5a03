"""Who explains: illume, the paper's own objective, and the methods they are compared with."""
