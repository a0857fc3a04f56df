#include "solvers.hpp"

#include <algorithm>
#include <utility>

#include "dual_coordinate_descent.hpp"
#include "orders.hpp"

namespace maxmargin {
namespace {

// Whether many neighbouring rows are the same, judged by a sample spread over the matrix.
template <class Rows>
bool has_runs_of_equal_rows(const Rows& rows) {
    constexpr std::size_t sample = 1024;
    const std::size_t step = std::max<std::size_t>(rows.size() / sample, 1);
    std::size_t seen = 0, equal = 0;
    for (std::size_t i = 0; i + 1 < rows.size(); i += step) {
        ++seen;
        equal += rows.equal(i, i + 1) ? 1 : 0;
    }
    return equal * 8 > seen;
}

}  // namespace

Outcome descend(const AnyRows& any_rows, std::span<Variable> variables, const Loss& loss, double bias,
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
            const BinaryProblem<Rows> problem{rows, variables, loss, bias};
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
