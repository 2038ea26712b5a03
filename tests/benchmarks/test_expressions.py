import doctest

import numpy as np
import pytest
from benchmarks.data import expressions
from benchmarks.data.expressions import BINARY, OPERATORS, UNARY, Expression, Term, draw

COMPLEX = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "minus": np.negative, "identity": lambda x: x,
    "sign": lambda x: np.sign(x.real), "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide,
    "**": np.power,
}  # fmt: skip


def points(operator):
    X = np.random.default_rng(0).normal(0, 3, size=(300, 2))
    return X[np.abs(np.abs(X[:, 0]) - 1) > 0.05][:, : len(OPERATORS[operator]) - 1]


def test_the_examples_in_the_module_are_true():
    assert doctest.testmod(expressions).failed == 0


@pytest.mark.parametrize("operator", OPERATORS)
def test_values_are_the_real_parts_of_complex_functions(operator):
    X = points(operator)
    function = COMPLEX.get(operator) or getattr(np, operator)
    expected = function(*X.T.astype(complex)).real
    got = Expression((Term(operator, tuple(range(X.shape[1]))),)).score(X)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("operator", OPERATORS)
def test_derivatives_agree_with_differences(operator):
    X = points(operator)
    X = X[np.abs(X).min(axis=1) > 0.05]  # away from poles and corners at 0
    expression = Expression((Term(operator, tuple(range(X.shape[1]))),))
    steps = 1e-6 * np.eye(X.shape[1])
    differences = [(expression.score(X + h) - expression.score(X - h)) / 2e-6 for h in steps]
    gradient = expression.gradient(X)
    error = np.abs(gradient - np.column_stack(differences))
    assert np.all(error <= 1e-4 * (1 + np.abs(gradient) + np.abs(expression.score(X))[:, None]))


def test_sign_hides_no_other_term_of_its_column():
    expression = Expression((Term("sign", (0,)), Term("*", (0, 1))))
    np.testing.assert_array_equal(expression.gradient(np.array([[2.0, 5.0]])), [[5.0, 2.0]])


def test_columns_are_bound_by_position_also_from_the_eleventh_on():
    X = np.arange(12.0)[None]
    expression = Expression(tuple(Term("identity", (column,)) for column in (2, 10)))
    assert expression.score(X) == 12
    np.testing.assert_array_equal(np.flatnonzero(expression.gradient(X)), [2, 10])


def test_a_column_whose_linear_terms_cancel_is_not_used():
    cancelling = (Term("-", (0, 1)), Term("-", (1, 0)))
    assert not Expression(cancelling).uses(2)
    assert Expression((*cancelling, Term("*", (0, 1)))).uses(2)


def test_scores_beyond_all_numbers_come_without_warnings():
    expression = Expression((Term("exp", (0,)), Term("/", (0, 1)), Term("**", (1, 0))))
    assert expression.score(np.array([[1e4, 0.0]]))[0] == np.inf
    assert not np.isfinite(expression.gradient(np.array([[1e4, 0.0]]))).all()


def test_drawn_formulas_have_a_term_for_each_column_and_use_all_operators():
    rng = np.random.default_rng(0)
    formulas = [draw(6, rng) for _ in range(200)]
    assert all(column in term.columns for f in formulas for column, term in enumerate(f.terms))
    assert all(len(set(term.columns)) == len(term.columns) for f in formulas for term in f.terms)
    operators = [term.operator for f in formulas for term in f.terms]
    assert set(operators) == set(OPERATORS)
    assert np.mean([operator in BINARY for operator in operators]) == pytest.approx(0.7, abs=0.05)
    assert len(UNARY) == 15
