#include <algorithm>
#include <cstdint>

#include "exponentiated_gradient.hpp"
#include "multiclass_newton.hpp"
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

Outcome multiclass_newton(const AnyRows& any_rows, MulticlassVariables& variables, const Multiclass& given,
                          const Options& options, Monitor& monitor, std::vector<double>& w) {
    // Widths to start with: from nothing, from given variables, and from weights that are nearly right.
    constexpr double wide = 10.0, medium = 1.0, narrow = 0.1;
    constexpr std::size_t one_in = 16, rows_per_weight = 20;
    constexpr double rough = 1e-2;
    const bool warm = std::any_of(variables.rows.begin(), variables.rows.end(),
                                  [](const MulticlassRow& row) { return row.count > 0; });
    return with_problem(
        any_rows, variables, given, [&]<class Rows>(MulticlassProblem<Rows>& problem, const Rows& rows) {
            problem.rebuild_weights(w);
            const bool sampled =
                !warm && rows.size() / one_in >= rows_per_weight * given.classes * (rows.features() + 1);
            if (sampled) {
                // One row in sixteen, each for sixteen, gives weights to start from.
                MulticlassVariables some = variables;
                for (std::size_t i = 0; i < some.rows.size(); ++i) {
                    const std::uint64_t scattered = (static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u) >> 32;
                    some.rows[i].C *= scattered % one_in == 0 ? static_cast<double>(one_in) : 0.0;
                }
                MulticlassProblem<Rows> part(rows, some, given.formulation, given.classes, given.bias);
                monitor.mute(true);
                MulticlassNewton<Rows>(part, rough, options.max_iter, monitor).start(w, wide);
                monitor.mute(false);
            }
            return MulticlassNewton<Rows>(problem, options.tol, options.max_iter, monitor)
                .run(w,
                     sampled ? narrow
                     : warm  ? medium
                             : wide,
                     sampled);
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
