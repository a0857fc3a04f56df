#include "cutting_plane/cutting_plane.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "cutting_plane/crammer_singer_risk.hpp"
#include "cutting_plane/hinge_risk.hpp"
#include "cutting_plane/methods.hpp"
#include "cutting_plane/pair_risk.hpp"
#include "numeric/twofold.hpp"
#include "run/chunks.hpp"
#include "run/reached.hpp"

namespace maxmargin {
namespace {

constexpr std::size_t work_of_row = 4;  // in stored values, where a few numbers of each are added up

// As sums of chunks are added up.
struct Twofold : TwofoldSum {
    Twofold& operator+=(const Twofold& other) {
        add(other);
        return *this;
    }
};

bool is_zero(const std::vector<double>& point) {
    return std::all_of(point.begin(), point.end(), [](double weight) { return weight == 0.0; });
}

}  // namespace

Outcome cut_hinge(BinaryState& state, const CuttingOptions& options, const Limits& limits, Monitor& monitor) {
    HingeRisk risk(state.variables);
    const std::vector<double>& alphas = state.bounds.variables();
    CutStart start;
    std::vector<double> coefficients;
    if (state.bounds.dual() > 0.0) {
        for (std::size_t i = 0; i < alphas.size(); ++i) {
            coefficients.push_back(state.variables[i].sign() * alphas[i]);
            start.offset += state.variables[i].target * alphas[i];
        }
        start.coefficients = coefficients;
    }
    const std::vector<double> point = state.bounds.weights();
    if (!is_zero(point)) {
        start.points = point;
    }
    auto deliver = [&](double primal, const std::vector<double>& weights, const Unfolded& found) {
        state.bounds.offer_weights(primal, weights, infinity);
        for (std::size_t i = 0; i < state.variables.size(); ++i) {
            Variable& v = state.variables[i];
            v.alpha = clip(v.sign() * found.coefficients[i], 0.0, v.C());  // shares add up to 1 but for rounding
        }
        state.visit([&](const auto& problem) {
            std::vector<double> sums;
            problem.sum_rows(sums);
            state.offer_variables(problem.dual_terms() - problem.regulariser().conjugate(sums), problem);
        });
        return reached(state, limits.tol, monitor);
    };
    return CuttingPlane(state.rows(), state.bias.value, risk, options, limits, monitor).run(start, deliver);
}

Outcome cut_classes(MulticlassState& state, const CuttingOptions& options, const Limits& limits, Monitor& monitor) {
    const std::size_t width = class_width(state.classes), rows = state.rows().size();
    state.variables = state.bounds.variables();
    CrammerSingerRisk risk(state.variables, state.classes);
    CutStart start;
    std::vector<double> coefficients;
    if (state.bounds.dual() > 0.0) {
        coefficients.resize(rows * width);
        for (std::size_t i = 0; i < rows; ++i) {
            for (const ClassValue& v : state.variables.list(i)) {
                coefficients[i * width + v.which] = -v.value;
            }
            coefficients[i * width + state.variables.rows[i].label] = state.variables.rows[i].sum;
            start.offset += state.variables.rows[i].sum;
        }
        start.coefficients = coefficients;
    }
    const std::vector<double> point = state.bounds.weights();
    if (!is_zero(point)) {
        start.points = point;
    }
    auto deliver = [&](double primal, const std::vector<double>& weights, const Unfolded& found) {
        state.bounds.offer_weights(primal, weights, infinity);
        std::vector<ClassValue> list;
        for (std::size_t i = 0; i < rows; ++i) {
            const MulticlassRow& row = state.variables.rows[i];
            list.clear();
            double sum = 0.0;
            for (std::uint32_t m = 0; m < state.classes; ++m) {
                if (m != row.label) {
                    list.push_back({m, std::max(-found.coefficients[i * width + m], 0.0)});
                    sum += list.back().value;
                }
            }
            for (ClassValue& v : list) {
                v.value *= sum > row.C ? row.C / sum : 1.0;  // shares add up to 1 but for rounding
            }
            state.variables.assign(i, list);
        }
        state.visit([&](auto& problem) {
            std::vector<double> sums;
            problem.rebuild_weights(sums);
            state.offer_variables(problem.dual(sums));
        });
        return reached(state, limits.tol, monitor);
    };
    return CuttingPlane(state.rows(), state.bias, risk, options, limits, monitor).run(start, deliver);
}

Outcome cut_pairs(RankingState& state, const CuttingOptions& options, const Limits& limits, Monitor& monitor) {
    state.rows().squared_norms();  // finds NaN and infinity
    PairRisk risk(state.pairs, state.C, monitor.team());
    const std::vector<double> points = std::move(state.points);
    CutStart start;
    start.points = points;
    auto deliver = [&](double primal, const std::vector<double>& weights, Unfolded found) {
        state.bounds.offer_weights(primal, weights, infinity);
        std::vector<double> sums(weights.size());
        const UserRows& rows = state.rows().rows();
        const Chunks chunks(rows.size(), rows.stored(), sums.size());
        ChunkSums parts(chunks, sums.size());
        rows.with_view([&](const auto& view) {
            chunks.for_each(monitor.team(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) {
                    view.axpy(i, found.coefficients[i], parts.of(chunk));
                }
            });
        });
        parts.add_to(sums);
        state.bounds.offer_variables(found.sum - Regulariser{}.conjugate(sums), [&](PairVariables& best) {
            best = {std::move(found.coefficients), found.sum};
            state.points = std::move(found.points);
        });
        return reached(state, limits.tol, monitor);
    };
    return CuttingPlane(state.rows(), 0.0, risk, options, limits, monitor).run(start, deliver);
}

// Only differences of scores matter, so all are taken to one reference row, where twofold sums lose nothing. What a
// score is beyond its double is small, but pairs at the margin have a loss of nothing else, and C may be huge.
double RankingState::exact_primal(Team* team) {
    const std::vector<double>& w = bounds.weights();
    const std::vector<RowIndex>& taking_part = pairs.rows();
    const std::size_t size = taking_part.size();
    std::vector<double> scores(size), rests(size), nets(size);
    const UserRows& rows = rows_.rows();
    auto score = [&](RowIndex i) {
        TwofoldSum sum;
        rows.for_each(i, [&](std::size_t j, auto x) { sum.add_product(static_cast<double>(x), w[j]); });
        return sum;
    };
    const TwofoldSum first = score(taking_part.front());
    Chunks(size, rows.stored()).for_each(team, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t p = begin; p < end; ++p) {
            TwofoldSum own = score(taking_part[p]);
            own.subtract(first);
            scores[p] = own.value();
            rests[p] = own.rest();
        }
    });
    double largest = 1.0;
    for (const double own : scores) {
        largest = std::max(largest, std::abs(own));
    }
    const double scale = C / pairs.total();
    // No loss is off by more than this where it is computed from doubles.
    const double error = 4.0 * std::numeric_limits<double>::epsilon() * largest;
    const bool rounding_counts = !(C * error <= negligible * (bounds.primal() - bounds.dual()));
    TwofoldSum result;
    if (rounding_counts && pairs.are_listed()) {
        pairs.for_each([&](std::size_t higher, std::size_t lower, double weight) {
            TwofoldSum slack;
            for (const double part : {1.0, -scores[higher], scores[lower], -rests[higher], rests[lower]}) {
                slack.add(part);
            }
            if (!(slack.value() <= 0.0)) {
                result.add_product(scale * weight, slack.value());
            }
        });
    } else {
        TwofoldSum losses;  // by weights of pairs alone: their sums are whole numbers where rows have no weights
        losses.add(pairs.violated(scores.data(), 1.0, nets.data(), team));
        losses.add(Chunks(size, work_of_row * size).sum<Twofold>(team, [&](std::size_t begin, std::size_t end) {
            Twofold part;
            for (std::size_t p = begin; p < end; ++p) {
                part.add_product(-nets[p], scores[p]);
                part.add_product(-nets[p], rests[p]);
            }
            return part;
        }));
        if (rounding_counts) {
            // Pairs so close to the margin may have been counted wrongly, each by no more than the error.
            auto within = [&](double margin) {
                std::vector<double> scaled(scores);
                std::for_each(scaled.begin(), scaled.end(), [margin](double& own) { own /= margin; });
                return pairs.violated(scaled.data(), 1.0, nets.data(), team);
            };
            losses.add_product(error, within(1.0 + error) - within(1.0 - error));
        }
        result.add_product(scale, losses.value());
    }
    for (const double weight : w) {
        result.add_product(0.5 * weight, weight);
    }
    return result.value();
}

double RankingState::exact_dual(Team* team) const {
    const PairVariables& variables = bounds.variables();
    const std::size_t width = bounds.weights().size();
    const UserRows& rows = rows_.rows();
    const Chunks chunks(rows.size(), rows.stored(), width);
    std::vector<std::vector<TwofoldSum>> parts(chunks.count());
    chunks.for_each(team, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
        std::vector<TwofoldSum> own(width);
        for (std::size_t i = begin; i < end; ++i) {
            const double a = variables.coefficients[i];
            if (a != 0.0) {
                rows.for_each(i, [&](std::size_t j, auto x) { own[j].add_product(a, static_cast<double>(x)); });
            }
        }
        parts[chunk] = std::move(own);
    });
    std::vector<TwofoldSum> sums(width);
    for (const std::vector<TwofoldSum>& part : parts) {
        for (std::size_t j = 0; j < width; ++j) {
            sums[j].add(part[j]);
        }
    }
    TwofoldSum result;
    result.add(variables.sum);
    for (const TwofoldSum& sum : sums) {
        result.add_product(-0.5 * sum.value(), sum.value());
        result.add(-sum.value() * sum.rest());
    }
    return result.value();
}

void RankingState::verify(Team* team) {
    if (bounds.are_exact()) {
        return;
    }
    const double primal = exact_primal(team), dual = exact_dual(team);
    if (!std::isfinite(primal) || !std::isfinite(dual)) {
        throw std::invalid_argument("the objective is no longer a finite number: X was changed during the fit");
    }
    bounds.correct(primal, dual);
}

}  // namespace maxmargin
