#include "exponentiated_gradient.hpp"
#include "sequential_dual_method.hpp"
#include "solvers.hpp"

namespace maxmargin {
namespace {

template <class Solve>
auto with_problem(const AnyRows& any_rows, MulticlassVariables& variables, const Multiclass& given,
                  const Solve& solve) {
    return std::visit(
        [&]<class Rows>(const Rows& rows) {
            MulticlassProblem<Rows> problem(rows, variables, given.formulation, given.classes, given.bias);
            return solve(problem, rows);
        },
        any_rows.variant());
}

}  // namespace

Outcome sequential_dual_method(const AnyRows& any_rows, MulticlassVariables& variables, const Multiclass& given,
                               const Options& options, Monitor& monitor, std::vector<double>& w) {
    return with_problem(
        any_rows, variables, given, [&]<class Rows>(MulticlassProblem<Rows>& problem, const Rows& rows) {
            return SequentialDualMethod<Rows>(problem, !has_runs_of_equal_rows(rows), options, monitor).run(w);
        });
}

Outcome exponentiated_gradient(const AnyRows& any_rows, MulticlassVariables& variables, const Multiclass& given,
                               const Options& options, Monitor& monitor, std::vector<double>& w) {
    return with_problem(any_rows, variables, given, [&]<class Rows>(MulticlassProblem<Rows>& problem, const Rows&) {
        return ExponentiatedGradient<Rows>(problem, options, monitor).run(w);
    });
}

Certificate certify(const AnyRows& any_rows, MulticlassVariables& variables, const Multiclass& given,
                    std::vector<double>& w) {
    return with_problem(any_rows, variables, given, [&](auto& problem, const auto&) {
        problem.rebuild_weights(w);
        return problem.certify(w);
    });
}

}  // namespace maxmargin
