"""Data sets of regression: generated ones, one of scikit-learn, and columns of the data folder as targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_linnerud, make_friedman1, make_friedman2, make_friedman3

from benchmarks.data.real import fill_gaps, read_entry, safe_names
from illume._typing import FloatArray

Table = tuple[pd.DataFrame, FloatArray]  # features and target
STREAM = 3  # keeps the numbers apart from those of other generated data
MOST_ROWS = 20_000  # of a table in the data folder


@dataclass(frozen=True)
class Source:
    """Where a data set comes from, and how its target is read."""

    make: Callable[[], Table]
    positive: bool = False  # models are fitted to the logarithm, so that they answer with positive numbers
    link: str = "identity"  # of the explanations
    needs_folder: bool = False


def _frame(X: FloatArray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def _draw(number: int) -> np.random.Generator:
    return np.random.default_rng([STREAM, number])


def _choose(rng: np.random.Generator, n: int, shares: dict[str, float]) -> pd.Categorical:
    codes = rng.choice(len(shares), size=n, p=np.array(list(shares.values())) / sum(shares.values()))
    return pd.Categorical.from_codes(codes, list(shares))


def _effect(values: pd.Categorical, effects: tuple[float, ...]) -> FloatArray:
    return np.array(effects)[values.codes]


def diabetes() -> Table:
    """Disease progression of 442 patients, from scikit-learn."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return X.astype(float), y.to_numpy(float)


def friedman1() -> Table:
    """Sine of a product, a square and two lines; five of ten columns are uninformative."""
    X, y = make_friedman1(n_samples=2000, n_features=10, noise=1.0, random_state=1)
    return _frame(X), y


def friedman2() -> Table:
    """Impedance of a circuit: products of four columns of very different size."""
    X, y = make_friedman2(n_samples=1000, noise=50.0, random_state=2)
    return _frame(X), y


def friedman3() -> Table:
    """Phase shift of a circuit: an arc tangent of four columns."""
    X, y = make_friedman3(n_samples=3000, noise=0.1, random_state=3)
    return _frame(X), y


def houses() -> Table:
    """Prices in euros by area, rooms, age, distance, garden, district, kind and heating, which interact."""
    rng, n = _draw(1), 8000
    district = _choose(rng, n, {"centre": 2, "north": 3, "south": 3, "harbour": 1, "hills": 1})
    kind = _choose(rng, n, {"flat": 5, "terraced": 3, "detached": 2})
    heating = _choose(rng, n, {"gas": 5, "heat pump": 2, "oil": 2, "district heating": 1})
    area = rng.gamma(9.0, 8.0, n) + _effect(kind, (25.0, 45.0, 70.0))
    rooms = np.clip(np.round(area / 26 + rng.normal(0, 0.7, n)), 1, 9)
    age = np.round(rng.gamma(1.6, 22.0, n)).clip(0, 150)
    distance = np.where(district.codes == 0, rng.gamma(2.0, 0.5, n), rng.gamma(3.0, 2.0, n))
    garden = np.where(kind.codes > 0, rng.gamma(2.0, 90.0, n), 0.0).round()
    per_metre = _effect(district, (3900.0, 2500.0, 2300.0, 3300.0, 3000.0)) * np.exp(-0.035 * distance)
    per_metre *= np.where(age < 15, 1.15, np.where(age > 90, 1.05, 1.0 - 0.003 * age))
    price = area * per_metre + 9000 * rooms + 140 * garden * (district.codes != 0) + 20_000
    price += _effect(heating, (0.0, 15_000.0, -8000.0, 4000.0)) - 20_000 * (distance > 12)
    columns = {"area": area.round(1), "rooms": rooms, "age": age, "distance": distance.round(2)}
    columns |= {"garden": garden, "district": district, "kind": kind, "heating": heating}
    return pd.DataFrame(columns), price * np.exp(rng.normal(0, 0.06, n))


def rentals() -> Table:
    """Bicycles rented in an hour, a count: two peaks on working days, one on others; weather and season."""
    rng, n = _draw(2), 10_000
    season = _choose(rng, n, {"winter": 1, "spring": 1, "summer": 1, "autumn": 1})
    weather = _choose(rng, n, {"clear": 6, "mist": 3, "rain": 1})
    day = _choose(rng, n, {"working day": 7, "weekend": 3})
    hour = rng.integers(24, size=n).astype(float)
    temperature = _effect(season, (3.0, 12.0, 23.0, 11.0)) + 4 * np.sin((hour - 9) / 24 * 2 * np.pi)
    temperature += rng.normal(0, 4, n)
    humidity = np.clip(60 + 12 * weather.codes - 0.6 * temperature + rng.normal(0, 12, n), 10, 100)
    wind = rng.gamma(2.5, 5.0, n)
    commuters = np.exp(-((hour - 8) ** 2) / 3) + 1.2 * np.exp(-((hour - 17.5) ** 2) / 6)
    visitors = np.exp(-((hour - 14) ** 2) / 22)
    rhythm = np.where(day.codes == 0, 2.2 * commuters + 0.5 * visitors, 1.7 * visitors)
    logarithm = 3.0 + rhythm + 0.05 * temperature - 0.0009 * np.maximum(temperature - 20, 0) ** 3
    logarithm += _effect(weather, (0.0, -0.12, -0.9)) - 0.012 * wind - 0.004 * humidity
    columns = {"hour": hour, "temperature": temperature.round(1), "humidity": humidity.round()}
    columns |= {"wind": wind.round(1), "season": season, "weather": weather, "day": day}
    return pd.DataFrame(columns), rng.poisson(np.exp(logarithm)).astype(float) + 1.0


def sparse() -> Table:
    """Five lines among 20 columns that are correlated in groups of five; the other 15 do nothing."""
    rng, n = _draw(3), 2000
    shared = np.repeat(rng.normal(size=(n, 4)), 5, axis=1)
    X = np.sqrt(0.6) * shared + np.sqrt(0.4) * rng.normal(size=(n, 20))
    weights = np.zeros(20)
    weights[[0, 1, 5, 6, 10]] = 3.0, -2.0, 2.0, 1.0, -1.5
    return _frame(X), X @ weights + rng.normal(0, 1.0, n)


def steps() -> Table:
    """Thresholds of four columns, one inside another, among eight."""
    rng, n = _draw(4), 4000
    X = rng.uniform(-1, 1, size=(n, 8))
    y = np.where(X[:, 0] > 0.2, 30.0, 0.0) + np.where((X[:, 1] > 0) & (X[:, 2] > -0.3), 20.0, 0.0)
    y += np.where(X[:, 0] > 0.2, 0.0, 15.0 * (X[:, 3] > 0.5))
    return _frame(X), y + rng.normal(0, 2.0, n)


def additive() -> Table:
    """Curves of 30 columns, summed: lines, squares, sines and bends of decreasing size."""
    rng, n = _draw(5), 6000
    X = rng.normal(size=(n, 30))
    curves = (lambda x: x, lambda x: x**2 - 1, lambda x: 1.4 * np.sin(2 * x), lambda x: np.abs(x))
    y = sum(0.93**j * curves[j % 4](X[:, j]) for j in range(30))
    return _frame(X), 10.0 * y + rng.normal(0, 3.0, n)


def column(name: str, target: str, leave_out: tuple[str, ...] = (), missing: float | None = None) -> Table:
    """Return a table of the data folder with one of its numeric columns as the target.

    Rows without a target are left out; `missing` and smaller numbers of the target count as none. Gaps are
    filled with means, or the most frequent category.
    """
    entry, frame = read_entry(name)
    known = frame[target].notna() & (missing is None or frame[target] > missing)
    frame = frame[known]
    if len(frame) > MOST_ROWS:
        frame = frame.iloc[np.sort(_draw(6).permutation(len(frame))[:MOST_ROWS])]
    y = frame[target].to_numpy(float)
    X = frame.drop(columns=[target, *leave_out, *entry["ignore_columns"]], errors="ignore").copy()
    categorical = {*entry["categorical_columns"], *X.select_dtypes(exclude="number")}
    for each in X:
        X[each] = X[each].astype("category") if each in categorical else X[each].astype(float)
        if each in categorical:
            X[each] = X[each].cat.rename_categories([str(value) for value in X[each].cat.categories])
    X.columns = safe_names(list(X.columns))
    return fill_gaps(X, X, ())[0], y


def linnerud() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Three exercises and three measurements of 20 men, from scikit-learn: several outputs."""
    return load_linnerud(return_X_y=True, as_frame=True)


def motor() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Speed, torque and heat of a motor by voltage, load, cooling and age: several outputs."""
    rng, n = _draw(7), 1500
    voltage, load = rng.uniform(100, 240, n), rng.gamma(3.0, 2.0, n)
    cooling, age = rng.uniform(0, 1, n), rng.gamma(2.0, 3.0, n)
    speed = 12 * voltage / (1 + 0.08 * load) + rng.normal(0, 20, n)
    torque = load * (1 - 0.01 * age) + rng.normal(0, 0.2, n)
    heat = 20 + 0.02 * load * voltage / (1 + 3 * cooling) + rng.normal(0, 1, n)
    X = pd.DataFrame({"voltage": voltage, "load": load, "cooling": cooling, "age": age})
    return X, pd.DataFrame({"speed": speed, "torque": torque, "heat": heat})


def _real(*arguments: object, **options: object) -> Source:
    return Source(lambda: column(*arguments, **options), needs_folder=True)  # type: ignore[arg-type]


# Settings of the library may be chosen on sets for development alone. The first three were named before the
# first run; settings of rules were then also chosen on the other two.
DEVELOPMENT = ("friedman1", "german", "fico", "diabetes", "friedman2")
HELD_OUT = (
    "friedman3", "houses", "rentals", "rentals-log", "sparse", "steps", "additive", "home", "wine", "aids",
    "adult",
)  # fmt: skip
SPLITS = {"development": DEVELOPMENT, "heldout": HELD_OUT, "all": DEVELOPMENT + HELD_OUT}
SOURCES = {
    "friedman1": Source(friedman1),
    "german": _real("german", "credit_amount", ("class",)),
    "fico": _real("fico", "ExternalRiskEstimate", ("RiskPerformance",), missing=-1),
    "diabetes": Source(diabetes),
    "friedman2": Source(friedman2),
    "friedman3": Source(friedman3),
    "houses": Source(houses),
    "rentals": Source(rentals, positive=True),
    "rentals-log": Source(rentals, positive=True, link="log"),
    "sparse": Source(sparse),
    "steps": Source(steps),
    "additive": Source(additive),
    "home": _real("home", "price", ("price_per_sqft",)),
    "wine": _real("wine", "quality"),
    "aids": _real("aids", "cd420", ("time", "cid", "cd820", "offtrt")),
    "adult": _real("adult", "hours-per-week", ("income",)),
}
SEVERAL_OUTPUTS: dict[str, Callable[[], tuple[pd.DataFrame, pd.DataFrame]]] = {
    "motor": motor,
    "linnerud": linnerud,
}
