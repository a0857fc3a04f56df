#include "pegasos.hpp"
#include "primal_coordinate_descent.hpp"
#include "solvers.hpp"

namespace maxmargin {

Outcome primal_coordinate_descent(const AnyRows& any_rows, std::span<Variable> variables, const Loss& loss, Bias bias,
                                  const PrimalOptions& options, Monitor& monitor, std::vector<double>& w) {
    return std::visit(
        [&]<class Rows>(const Rows& rows) {
            const BinaryProblem<Rows> problem{rows, variables, loss, bias.value, bias.free};
            balance(problem);
            weights_of(problem, w);
            return PrimalCoordinateDescent<Rows>(problem, monitor, options).run(w);
        },
        any_rows.variant());
}

Outcome pegasos(const AnyRows& any_rows, std::span<Variable> variables, const Loss& loss, Bias bias,
                const PrimalOptions& options, Monitor& monitor, std::vector<double>& w) {
    return std::visit(
        [&]<class Rows>(const Rows& rows) {
            const BinaryProblem<Rows> problem{rows, variables, loss, bias.value, bias.free};
            return Pegasos<Rows>(problem, monitor, options).run(w);
        },
        any_rows.variant());
}

}  // namespace maxmargin
