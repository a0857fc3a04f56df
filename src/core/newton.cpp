#include "newton.hpp"

#include <algorithm>

#include "certificate.hpp"
#include "free_bias.hpp"
#include "solvers.hpp"

namespace maxmargin {

// Whether no weights at all are a better start: dual variables near the optimum can have weights with a huge primal
// value, and from these Newton steps lead to worse ones.
template <class Rows>
bool is_worse_than_zero(const BinaryProblem<Rows>& problem, const std::vector<double>& w) {
    if (std::all_of(w.begin(), w.end(), [](double weight) { return weight == 0.0; })) {
        return false;
    }
    double at_zero = 0.0;
    for (const Variable& v : problem.variables) {
        at_zero += v.C > 0.0 ? problem.loss.primal(1.0, v.C) : 0.0;
    }
    return !(certify(problem, w).primal <= at_zero);
}

Outcome newton(const AnyRows& any_rows, std::span<Variable> variables, const Loss& loss, Bias bias, double tol,
               std::int64_t max_iter, Monitor& monitor, std::vector<double>& w) {
    return std::visit(
        [&]<class Rows>(const Rows& rows) {
            const BinaryProblem<Rows> problem{rows, variables, loss, bias.value, bias.free};
            balance(problem);
            weights_of(problem, w);
            if (is_worse_than_zero(problem, w)) {
                std::fill(w.begin(), w.end(), 0.0);
            }
            return Newton<Rows>(problem, monitor, tol, max_iter).run(w);
        },
        any_rows.variant());
}

Certificate certify(const AnyRows& any_rows, std::span<Variable> variables, const Loss& loss, Bias bias,
                    std::vector<double>& w) {
    return std::visit(
        [&]<class Rows>(const Rows& rows) {
            const BinaryProblem<Rows> problem{rows, variables, loss, bias.value, bias.free};
            balance(problem);
            weights_of(problem, w);
            return certify(problem, w);
        },
        any_rows.variant());
}

}  // namespace maxmargin
