"""Work that goes wrong, in a file that loads nothing, for it is loaded by new processes."""

import os

from illume.errors import SchemaError


class Dies:
    """Ends its process at every part, or fails."""

    def __init__(self, how):
        self.how = how

    def ready(self):
        pass

    def __call__(self, part, done):
        if self.how == "fails":
            raise SchemaError("column 'a' is missing")
        os._exit(3)
