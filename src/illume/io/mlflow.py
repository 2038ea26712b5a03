"""An MLflow flavour: explainers are saved and logged as models whose predictions are explanations."""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from illume.data.archive import library_versions
from illume.data.black_box import BlackBox
from illume.errors import BlackBoxError, FormatError, SaveError, import_extra

if TYPE_CHECKING:
    from illume.explainer import Explainer

FLAVOUR, FOLDER, EXPLAINER, MODEL = "illume", "explainer", "explainer.illume", "model.pkl"
PACKAGES = ("numpy", "pandas", "scikit-learn", "torch")

KINDS = ("attributions", "rules", "counterfactuals")
# The params of `predict`: options are those of the explainer's method, as a JSON object
PARAMS = {"kind": KINDS[0], "layout": "wide", "options": "{}"}


def save_model(
    explainer: Explainer | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    model: Any = None,
    signature: Any = None,
    pip_requirements: Sequence[str] | None = None,
    extra_pip_requirements: Sequence[str] = (),
    mlflow_model: Any = None,
    **options: Any,
) -> None:
    """Write an explainer to a folder as an MLflow model.

    Parameters
    ----------
    explainer
        A fitted explainer, or a file that `Explainer.save` wrote, which lets you choose the rows in it.
    path
        The folder, which must not exist.
    model
        The black box, to be stored with the explainer. It is pickled, so loading it runs code; without it,
        pass the model to `load_model`, or explain without it as `illume.load` describes.
    signature
        What MLflow checks the rows against; by default only the params are described, and illume checks the
        rows.
    pip_requirements, extra_pip_requirements
        Requirements instead of, or in addition to, the installed versions of illume and its dependencies.
    mlflow_model, options
        As in `mlflow.pyfunc.save_model`.
    """
    pyfunc = import_extra("mlflow.pyfunc", "mlflow")
    meta = import_module("mlflow.models").Model() if mlflow_model is None else mlflow_model
    meta.add_flavor(FLAVOUR, illume_version=import_module("illume").__version__)
    needed = _requirements() if pip_requirements is None else list(pip_requirements)
    with TemporaryDirectory() as folder:
        data = Path(folder) / FOLDER
        data.mkdir()
        if model is not None:
            (data / MODEL).write_bytes(_pickle(model))
        if isinstance(explainer, (str, os.PathLike)):
            shutil.copyfile(explainer, data / EXPLAINER)
        else:
            explainer.save(data / EXPLAINER)
        with warnings.catch_warnings():
            # An input example would be a row of the user's data.
            warnings.filterwarnings("ignore", ".*input example was not provided.*", UserWarning)
            pyfunc.save_model(
                str(path),
                loader_module=__name__,
                data_path=str(data),
                signature=_signature(signature),
                pip_requirements=[*needed, *extra_pip_requirements],
                mlflow_model=meta,
                **options,
            )


def log_model(explainer: Explainer | str | os.PathLike[str], name: str = "explainer", **options: Any) -> Any:
    """Log an explainer in the current run and return MLflow's `ModelInfo`.

    Options are those of `save_model` and of MLflow, such as `registered_model_name` and `metadata`.
    """
    log = import_extra("mlflow.models", "mlflow").Model.log
    return log(artifact_path=None, name=name, flavor=sys.modules[__name__], explainer=explainer, **options)


def load_model(
    model_uri: str | os.PathLike[str], model: Any = None, *, trust_model: bool = False
) -> Explainer:
    """Load the explainer from a folder or a URI such as `runs:/…` or `models:/…`.

    `model` is the black box; by default the one that was stored with the explainer, if any. That is a pickle,
    which runs code when it is loaded: it needs `trust_model=True`.
    """
    pyfunc = import_extra("mlflow.pyfunc", "mlflow")
    from mlflow.artifacts import download_artifacts
    from mlflow.models import Model

    local = Path(download_artifacts(artifact_uri=str(model_uri)))
    flavours = Model.load(str(local)).flavors
    if FLAVOUR not in flavours:
        raise FormatError(
            f"{model_uri} holds a model of {sorted(flavours)}, expected an explainer; "
            "write one with illume.mlflow.save_model or log_model"
        )
    data = local / flavours[pyfunc.FLAVOR_NAME][pyfunc.DATA]
    if model is None and not trust_model and (data / MODEL).exists():
        raise BlackBoxError(
            f"the model in {model_uri} is a pickle, and loading it runs code in it; if you trust who stored "
            f"it, pass trust_model=True, otherwise pass the model itself: load_model(uri, model=…)"
        )
    return _read(data, model)


@dataclass(frozen=True, eq=False)
class ExplanationModel:
    """The model that `mlflow.pyfunc.load_model` wraps: its predictions are explanations."""

    explainer: Explainer

    def predict(self, rows: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Return explanations of the kind that `params` asks for, as a frame."""
        given = PARAMS | dict(params or {})
        kind, unknown = given["kind"], sorted(set(given) - set(PARAMS))
        if unknown:
            raise ValueError(f"params {unknown} are not known; choose among {list(PARAMS)}")
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {list(KINDS)}, found {kind!r}")
        explain = self.explainer if kind == KINDS[0] else getattr(self.explainer, kind)
        try:
            options = json.loads(given["options"])
        except ValueError as error:
            raise ValueError(
                f"options must be a JSON object, found {given['options']!r} ({error})"
            ) from error
        return explain(rows, **options).to_frame(given["layout"])

    def get_raw_model(self) -> Explainer:
        """Return the explainer."""
        return self.explainer


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> ExplanationModel:
    """Load the model; MLflow calls this function by its name."""
    if (Path(path) / MODEL).exists():
        warnings.warn(
            f"loading {MODEL} of {path}, a pickle, runs code in it; illume.mlflow.load_model asks for trust, "
            f"and MLFLOW_ALLOW_PICKLE_DESERIALIZATION=false forbids it",
            UserWarning,
            stacklevel=2,
        )
    return ExplanationModel(_read(Path(path), None))


def _read(folder: Path, model: Any) -> Explainer:
    from illume import load

    if model is None and (folder / MODEL).exists():
        import cloudpickle
        from mlflow.environment_variables import MLFLOW_ALLOW_PICKLE_DESERIALIZATION

        if not MLFLOW_ALLOW_PICKLE_DESERIALIZATION.get():
            raise BlackBoxError(
                "the stored model is a pickle, and MLFLOW_ALLOW_PICKLE_DESERIALIZATION forbids loading it; "
                "allow it, or pass the model: illume.mlflow.load_model(uri, model=…)"
            )
        model = cloudpickle.loads((folder / MODEL).read_bytes())
    return load(folder / EXPLAINER, model)


def _pickle(model: Any) -> bytes:
    import cloudpickle

    BlackBox(model)  # raises if it cannot predict
    try:
        return cloudpickle.dumps(model)
    except Exception as error:
        raise SaveError(
            f"the {type(model).__name__} cannot be pickled: {error}; save the explainer without it, and "
            "pass it to illume.mlflow.load_model"
        ) from error


def _signature(given: Any) -> Any:
    """Return the given signature, with the params of `predict` unless it has params."""
    from mlflow.models import ModelSignature
    from mlflow.types.schema import ParamSchema, ParamSpec

    if given is not None and given.params is not None:
        return given
    params = ParamSchema([ParamSpec(name, "string", default) for name, default in PARAMS.items()])
    return ModelSignature(getattr(given, "inputs", None), getattr(given, "outputs", None), params)


def _requirements() -> list[str]:
    """Return the installed versions, without local build labels such as +cpu."""
    installed = {"illume[mlflow]": import_module("illume").__version__, **library_versions(PACKAGES)}
    return [f"{name}=={version.split('+')[0]}" for name, version in installed.items()]
