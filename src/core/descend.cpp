#include "solvers.hpp"

#include <algorithm>
#include <utility>

#include "dual_coordinate_descent.hpp"
#include "orders.hpp"

namespace maxmargin {
Outcome descend(const AnyRows& any_rows, std::span<Variable> variables, const Loss& loss, Bias bias,
                const Options& options, Monitor& monitor, std::vector<double>& w) {
    std::vector<RowIndex> candidates;  // rows of weight zero take no part
    candidates.reserve(variables.size());
    for (std::size_t i = 0; i < variables.size(); ++i) {
        if (variables[i].C > 0.0) {
            candidates.push_back(static_cast<RowIndex>(i));
        }
    }
    Random random(options.seed);
    return std::visit(
        [&]<class Rows>(const Rows& rows) {
            const BinaryProblem<Rows> problem{rows, variables, loss, bias.value, bias.free};
            auto run = [&]<class Order>(Order order) {
                return DualCoordinateDescent<Rows, Order>(problem, std::move(order), random, monitor, options).run(w);
            };
            const bool paged = !has_runs_of_equal_rows(rows);
            switch (options.order) {
                case OrderName::uniform:
                    return run(Uniform(std::move(candidates)));
                case OrderName::adaptive:
                    return run(Adaptive(std::move(candidates), variables.size(), paged));
                default:
                    return run(Permuted(std::move(candidates), variables.size(), options.shrinking, paged));
            }
        },
        any_rows.variant());
}

}  // namespace maxmargin
