"""What can go wrong, by whom it must be mended."""

from __future__ import annotations


class IllumeError(Exception):
    """Any error that illume raises on purpose."""


class SchemaError(IllumeError, ValueError):
    """The frame does not hold what was expected of it."""


class BlackBoxError(IllumeError, RuntimeError):
    """The model to explain failed, or did not answer with probabilities."""


class MissingExtraError(IllumeError, ImportError):
    """An optional package is needed for this call."""

    @classmethod
    def of(cls, package: str, extra: str) -> MissingExtraError:
        """Say which extra brings the package.

        >>> raise MissingExtraError.of("matplotlib", "plots")
        Traceback (most recent call last):
        illume.errors.MissingExtraError: this needs matplotlib; install it with: pip install "illume[plots]"
        """
        return cls(f'this needs {package}; install it with: pip install "illume[{extra}]"')
