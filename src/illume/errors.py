"""What can go wrong, by whom it must be mended."""

from __future__ import annotations


class IllumeError(Exception):
    """Any error that illume raises on purpose."""


class SchemaError(IllumeError, ValueError):
    """The frame does not hold what was expected of it."""


class BlackBoxError(IllumeError, RuntimeError):
    """The model to explain failed, did not answer with probabilities, or is not there."""


class FormatError(IllumeError, ValueError):
    """A file is damaged, cut off, of another kind, or newer than this version of illume."""


class SaveError(IllumeError, RuntimeError):
    """Something could not be saved; a file that was there before is unchanged."""


class LeftOutError(IllumeError, RuntimeError):
    """What is asked for needs what was left out when the explainer was saved."""


class ModelChangedWarning(UserWarning):
    """The model given to `load` does not answer as the explained one did."""


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
