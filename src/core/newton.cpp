#include "newton.hpp"

#include "free_bias.hpp"
#include "solvers.hpp"

namespace maxmargin {

Outcome newton(const AnyRows& any_rows, std::span<Variable> variables, const Loss& loss, Bias bias, double tol,
               std::int64_t max_iter, Monitor& monitor, std::vector<double>& w) {
    return std::visit(
        [&]<class Rows>(const Rows& rows) {
            const BinaryProblem<Rows> problem{rows, variables, loss, bias.value, bias.free};
            balance(problem);
            weights_of(problem, w);
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
