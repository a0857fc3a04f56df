"""scikit-learn's own tests of LinearSVC, run with maxmargin's class in its place.

scikit-learn's wheel holds its tests. Those that use LinearSVC are found by reading their source, and each must be in
`RUN` or in `NOT_OURS`. The modules are imported while ``sklearn.svm.LinearSVC`` is ours, so that names, default
arguments and parametrisations hold our class; the functions are then collected here under
``test_<module>__<function>``, with scikit-learn's own parametrisation and fixtures.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
from pathlib import Path

import pytest
import sklearn.calibration
import sklearn.datasets
import sklearn.exceptions
import sklearn.svm
from sklearn.utils import estimator_checks

from maxmargin import LinearSVC as OURS

#: The version whose tests are listed below; another one may have more of them, or fewer.
LISTED_VERSION = "1.9"
THEIRS = sklearn.svm.LinearSVC
ROOT = Path(sklearn.__file__).parent
LIBLINEAR = "liblinear's internals: "

#: scikit-learn's seed for tests that ask for one; all from 0 to 99 should do.
SEED = int(os.environ.get("SKLEARN_TESTS_GLOBAL_RANDOM_SEED", "42"))

#: Tests, or single parametrisations of them, that do not apply, and why.
NOT_OURS = {
    "svm/tests/test_svm.py::test_linearsvc_parameters[False-l2-hinge]": LIBLINEAR
    + "it has no method for the weights of the hinge; ours is Newton's",
    "svm/tests/test_svm.py::test_dual_auto": LIBLINEAR + "which of its solvers dual='auto' means",
    "svm/tests/test_svm.py::test_dual_auto_edge_cases": LIBLINEAR + "which of its solvers dual='auto' means",
    "svm/tests/test_svm.py::test_linear_svm_convergence_warnings": LIBLINEAR
    + "the text 'Liblinear failed to converge', and two steps that are too few for it; see test_too_few_steps",
}

#: Every other test in scikit-learn that uses LinearSVC.
RUN = {
    "svm/tests/test_bounds.py": [
        "test_l1_min_c",
    ],
    "ensemble/tests/test_common.py": [
        "test_ensemble_heterogeneous_estimators_behavior",
    ],
    "ensemble/tests/test_forest.py": [
        "test_random_hasher",
    ],
    "ensemble/tests/test_stacking.py": [
        "test_get_feature_names_out",
        "test_stacking_classifier_drop_column_binary_classification",
        "test_stacking_classifier_drop_estimator",
        "test_stacking_classifier_error",
        "test_stacking_classifier_iris",
        "test_stacking_classifier_sparse_passthrough",
        "test_stacking_classifier_stratify_default",
        "test_stacking_cv_influence",
        "test_stacking_randomness",
        "test_stacking_with_sample_weight",
    ],
    "feature_extraction/tests/test_text.py": [
        "test_count_vectorizer_pipeline_grid_selection",
        "test_vectorizer_pipeline_cross_validation",
        "test_vectorizer_pipeline_grid_selection",
    ],
    "feature_selection/tests/test_from_model.py": [
        "test_calling_fit_reinitializes",
    ],
    "linear_model/tests/test_common.py": [
        "test_linear_model_classifier_coef_shape",
    ],
    "metrics/tests/test_score_objects.py": [
        "test_check_scoring_and_check_multimetric_scoring",
        "test_check_scoring_gridsearchcv",
        "test_classification_binary_scores",
        "test_custom_scorer_pickling",
        "test_thresholded_scorers_multilabel_indicator_data",
    ],
    "model_selection/tests/test_search.py": [
        "test_callable_multimetric_confusion_matrix",
        "test_callable_multimetric_error_on_invalid_key",
        "test_callable_multimetric_same_as_list_of_strings",
        "test_callable_single_metric_same_as_single_string",
        "test_classes__property",
        "test_grid_search_correct_score_results",
        "test_grid_search_cv_splits_consistency",
        "test_grid_search_error",
        "test_grid_search_groups",
        "test_grid_search_no_score",
        "test_grid_search_score_method",
        "test_grid_search_sparse",
        "test_grid_search_sparse_scoring",
        "test_multi_metric_search_forwards_metadata",
        "test_refit_callable",
        "test_refit_callable_invalid_type",
        "test_refit_callable_multi_metric",
        "test_refit_callable_out_bound",
        "test_score_rejects_params_with_no_routing_enabled",
        "test_search_cv_timing",
        "test_search_cv_verbose_3",
        "test_search_estimator_param",
        "test_search_train_scores_set_to_false",
    ],
    "model_selection/tests/test_successive_halving.py": [
        "test_groups_support",
    ],
    "model_selection/tests/test_validation.py": [
        "test_callable_multimetric_confusion_matrix_cross_validate",
    ],
    "svm/tests/test_sparse.py": [
        "test_sparse_liblinear_intercept_handling",
        "test_linearsvc",
        "test_linearsvc_iris",
        "test_weight",
    ],
    "svm/tests/test_svm.py": [
        "test_dense_liblinear_intercept_handling",
        "test_auto_weight",
        "test_bad_input",
        "test_crammer_singer_binary",
        "test_liblinear_set_coef",
        "test_linearsvc",
        "test_linearsvc_crammer_singer",
        "test_linearsvc_fit_sampleweight",
        "test_linearsvc_iris",
        "test_linearsvc_parameters",
        "test_linearsvc_verbose",
        "test_linearsvm_liblinear_sample_weight",
        "test_lsvc_intercept_scaling_zero",
        "test_weight",
    ],
    "tests/test_calibration.py": [
        "test_calibration_attributes",
        "test_calibration_default_estimator",
        "test_calibration_ensemble_false",
        "test_calibration_inconsistent_prefit_n_features_in",
        "test_calibration_multiclass",
        "test_calibration_prob_sum",
        "test_parallel_execution",
        "test_sample_weight",
    ],
    "tests/test_multiclass.py": [
        "test_ecoc_delegate_sparse_base_estimator",
        "test_ecoc_exceptions",
        "test_ecoc_fit_predict",
        "test_ecoc_float_y",
        "test_ecoc_gridsearch",
        "test_ovo_decision_function",
        "test_ovo_exceptions",
        "test_ovo_fit_on_list",
        "test_ovo_fit_predict",
        "test_ovo_float_y",
        "test_ovo_gridsearch",
        "test_ovo_one_class",
        "test_ovo_string_y",
        "test_ovr_binary",
        "test_ovr_exceptions",
        "test_ovr_fit_predict",
        "test_ovr_gridsearch",
        "test_ovr_multiclass",
        "test_ovr_multilabel",
    ],
    "tests/test_multioutput.py": [
        "test_classifier_chain_fit_and_predict_with_linear_svc",
        "test_multi_output_delegate_predict_proba",
        "test_multi_output_exceptions",
        "test_multiclass_multioutput_estimator",
    ],
    "utils/_repr_html/tests/test_estimator.py": [
        "test_ovo_classifier_duck_typing_meta",
        "test_stacking_classifier",
    ],
}


def key_of(path: str, function: str) -> str:
    return f"{path}::{function}"


def uses_of_linear_svc() -> set[str]:
    """Every test function of scikit-learn that uses LinearSVC, itself or by something its module defines."""
    found = set()
    for path in ROOT.rglob("test_*.py"):
        source = path.read_text(encoding="utf-8")
        if "LinearSVC" not in source and "_validate_dual_parameter" not in source:
            continue
        used = {}
        for node in ast.parse(source).body:
            for name in defined_by(node):
                used[name] = names_in(node) - {name}
        hit = {"LinearSVC", "_validate_dual_parameter"}
        while new := {name for name, others in used.items() if others & hit} - hit:
            hit |= new
        relative = path.relative_to(ROOT).as_posix()
        tests = {key_of(relative, name) for name in hit if name.lower().startswith("test")}
        assert tests, f"{relative} mentions LinearSVC, but no test in it seems to use it"
        found |= tests
    return found


def defined_by(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return [name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]
    return []


def names_in(node: ast.AST) -> set[str]:
    """Names, attributes and arguments (which may be fixtures)."""
    kinds = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg"}
    return {getattr(part, kinds[type(part)]) for part in ast.walk(node) if type(part) in kinds}


def collect() -> dict[str, str]:
    """Put scikit-learn's functions, and the fixtures of their modules, into this module; their names to their keys."""
    collected = {}
    with pytest.MonkeyPatch.context() as patch:
        put_in_place(patch, OURS)
        for path in dict.fromkeys([*RUN, *(key.split("::")[0] for key in NOT_OURS)]):
            name = "sklearn." + path.removesuffix(".py").replace("/", ".")
            pytest.register_assert_rewrite(name)
            sys.modules.pop(name, None)
            module = importlib.import_module(name)
            functions = [key.split("::")[1].split("[")[0] for key in NOT_OURS if key.startswith(path + "::")]
            for function in dict.fromkeys([*RUN.get(path, []), *functions]):
                short = f"test_{module.__name__.rpartition('test_')[2]}__{function.removeprefix('test_')}"
                if short in collected:
                    short = f"test_{path.split('/')[0]}_{short.removeprefix('test_')}"
                assert short not in globals()
                collected[short] = key_of(path, function)
                # A function that scikit-learn has no more is for test_every_test_is_known to tell of.
                globals()[short] = test = getattr(module, function, None)
                for mark in getattr(test, "pytestmark", []):
                    if mark.name == "parametrize" and isinstance(mark.args[1], zip):  # pytest wants a list
                        object.__setattr__(mark, "args", (mark.args[0], list(mark.args[1])))
            for fixture, value in vars(module).items():
                if type(value).__name__ == "FixtureFunctionDefinition":
                    assert fixture not in globals(), f"two fixtures are called {fixture}"
                    globals()[fixture] = value
    return collected


def put_in_place(patch: pytest.MonkeyPatch, ours: object) -> None:
    """Everywhere scikit-learn itself or a test of it looks LinearSVC up."""
    patch.setattr(sklearn.svm, "LinearSVC", ours)
    patch.setattr(sklearn.calibration, "LinearSVC", ours)


COLLECTED = collect()
# scikit-learn's tests are written for warnings that are only shown.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def global_random_seed() -> int:
    return SEED


@pytest.fixture(autouse=True)
def ours_in_place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    key = key_of_item(request.node)
    for name in (key, key.split("[")[0]):
        if name in NOT_OURS:
            pytest.skip(NOT_OURS[name])
    put_in_place(monkeypatch, OURS)


def key_of_item(item: pytest.Item) -> str:
    key = COLLECTED.get(item.originalname, item.originalname)
    return f"{key}[{item.callspec.id}]" if hasattr(item, "callspec") else key


def test_every_test_is_known(request):
    """A new version of scikit-learn may have new tests, or lose some."""
    known = {key_of(path, function) for path, functions in RUN.items() for function in functions}
    skipped = {key for key in NOT_OURS if "[" not in key}
    assert not known & skipped
    if sklearn.__version__.startswith(LISTED_VERSION):
        assert uses_of_linear_svc() == known | skipped
    assert {key.split("[")[0] for key in NOT_OURS if "[" in key} <= known
    items = {key_of_item(item) for item in request.session.items if getattr(item, "module", None) is request.module}
    functions = {key.split("[")[0] for key in items}
    assert {key for key in NOT_OURS if key.split("[")[0] in functions} <= items | functions - known


def test_only_liblinear_is_left_out():
    assert all(reason.startswith(LIBLINEAR) for reason in NOT_OURS.values())


def test_our_class_is_in_place():
    """Else scikit-learn would test itself."""
    from sklearn.svm.tests import test_svm

    assert sklearn.svm.LinearSVC is test_svm.LinearSVC is test_svm.svm.LinearSVC is OURS
    assert test_svm.test_dense_liblinear_intercept_handling.__defaults__[0] is OURS


# What the tests that were left out say of more than liblinear, and what no test of scikit-learn's says.


def test_too_few_steps():
    """What test_linear_svm_convergence_warnings checks, but for the words."""
    X, y = sklearn.datasets.load_iris(return_X_y=True)
    model = OURS(max_iter=2, tol=1e-9)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="max_iter"):
        model.fit(X, y)
    assert type(model.n_iter_) is int
    assert model.n_iter_ == 2


def test_intercept_scaling_counts():
    """What test_dense_liblinear_intercept_handling checks, without l1."""
    X, y = [[2, 1], [3, 1], [1, 3], [2, 3]], [0, 0, 1, 1]
    for scaling in (1, 100, 1000):
        ours, theirs = (
            kind(C=4, tol=1e-7, intercept_scaling=scaling, max_iter=100_000, dual=False).fit(X, y)
            for kind in (OURS, THEIRS)
        )
        assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-3)


def test_parameters_are_those_of_scikit_learn():
    ours, theirs = OURS().get_params(), THEIRS().get_params()
    assert theirs.keys() <= ours.keys()
    assert all(ours[name] == theirs[name] for name in theirs.keys() - {"tol", "max_iter"})


@pytest.mark.parametrize(
    "parameters",
    [
        {"intercept_scaling": 10.0, "fit_intercept": False},
        {"class_weight": {0: 1.0, 1: 2.0, "not here": 3.0}},
    ],
    ids=["scaling without intercept", "weight of an absent class"],
)
def test_what_scikit_learn_ignores(parameters):
    X, y = [[2, 1], [3, 1], [1, 3], [2, 3]], [0, 0, 1, 1]
    ours, theirs = (kind(**parameters, tol=1e-6).fit(X, y) for kind in (OURS, THEIRS))
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-3)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_weights_are_repetitions(kind, class_weight):
    """As scikit-learn's test_common does for its own class, by parameters only it gets there."""
    check = getattr(estimator_checks, f"check_sample_weight_equivalence_on_{kind}_data")
    check("LinearSVC", OURS(dual=False, tol=1e-12, class_weight=class_weight))


@pytest.mark.parametrize(
    "check", ["param_validation", "all_zero_sample_weights_error", "dataframe_column_names_consistency"]
)
def test_common_checks(check):
    """What scikit-learn's test_common checks of every estimator beyond ``parametrize_with_checks``."""
    getattr(estimator_checks, f"check_{check}")("LinearSVC", OURS(max_iter=20))
