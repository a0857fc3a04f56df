#include "binary/fold_newton.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "rows/rows.hpp"
#include "run/chunks.hpp"
#include "run/reached.hpp"
#include "run/team.hpp"

namespace maxmargin {
namespace {

constexpr std::size_t n_bands = 16;
constexpr std::size_t all_masks = std::size_t{1} << joint_width;
constexpr double least_decrease = 1e-4, shortest = 0.1, longest = 0.5;  // of a step that has to be taken back

double largest_C(std::span<const JointProblem> problems) {
    double C = 0.0;
    for (const JointProblem& problem : problems) {
        for (const Variable& v : problem.state.variables) {
            C = std::max(C, v.C());
        }
    }
    return C;
}

}  // namespace

void FoldNewton::start(const std::vector<std::vector<double>>& weights) {
    weights_.assign(width() * joint_width, 0.0);
    for (std::size_t m = 0; m < weights.size() && m < joint_width; ++m) {
        if (weights[m].size() != width()) {
            throw std::invalid_argument("a start has one weight for each feature and one for the bias");
        }
        for (std::size_t j = 0; j < width(); ++j) {
            weights_[j * joint_width + m] = weights[m][j];
        }
    }
    known_ = false;
}

void FoldNewton::read(std::span<const JointProblem> problems) {
    lanes_ = problems.size();
    loss_ = problems[0].state.loss;
    bias_ = problems[0].state.bias.value;
    if (lanes_ > joint_width || loss_.is_hinge() || loss_.upper_per_C < infinity || loss_.epsilon != 0.0 ||
        problems[0].state.bias.free || rows_.features() + rows_.size() > std::numeric_limits<std::uint32_t>::max()) {
        throw std::invalid_argument("up to eight problems with a curved loss and no free bias are solved together");
    }
    const std::size_t size = rows_.size();
    unit_.assign(size, 0.0);
    signs_.assign(size * joint_width, 0);
    curved_.assign(size, 0);
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t m = 0; m < lanes_; ++m) {
            const Variable& v = problems[m].state.variables[i];
            if (v.takes_part()) {
                unit_[i] = v.C();
                signs_[i * joint_width + m] = static_cast<std::int8_t>(v.sign() > 0.0 ? 1 : -1);
            }
        }
        C_ = std::max(C_, unit_[i]);
    }
    for (double& unit : unit_) {
        unit /= C_;
    }
    scatters_.assign(lanes_, SymmetricMatrix(width()));
    factors_.assign(lanes_, SymmetricMatrix(width()));
    shared_ = SymmetricMatrix(width());
    beta_ = make_huge_array<double>(size * joint_width);
    std::fill_n(beta_.get(), size * joint_width, 0.0);
    weights_.resize(width() * joint_width);
    direction_.assign(width() * joint_width, 0.0);
}

void FoldNewton::check(std::span<const JointProblem> problems) const {
    const double C = largest_C(problems);
    bool same = problems.size() == lanes_;
    for (std::size_t m = 0; m < lanes_ && same; ++m) {
        const BinaryState& state = problems[m].state;
        same = &state.rows() == &rows_ && state.bias.value == bias_ && !state.bias.free;
        for (std::size_t i = 0; i < rows_.size() && same; ++i) {
            const double signed_unit = signs_[i * joint_width + m] * unit_[i];
            same = std::abs(state.variables[i].signed_C - C * signed_unit) <= 1e-9 * C;
        }
    }
    if (!same) {
        throw std::invalid_argument("problems that are solved together must agree on the signs and weights of rows");
    }
}

// Variables are proportional to C at the same weights, and so is all that is made of them.
void FoldNewton::scale_to(double C) {
    const double ratio = C / C_;
    C_ = C;
    if (!known_ || ratio == 1.0) {
        return;
    }
    for (std::size_t m = 0; m < joint_width; ++m) {
        now_.losses[m] *= ratio;
        now_.terms[m] *= ratio;
    }
    for (double& sum : now_.sums) {
        sum *= ratio;
    }
    for (std::size_t k = 0; k < rows_.size() * joint_width; ++k) {
        beta_[k] *= ratio;
    }
}

template <class View>
void FoldNewton::evaluate_part(const View& rows, const std::vector<double>& weights, std::size_t begin, std::size_t end,
                               double* sums, Lane& losses, Lane& terms) {
    const JointLoss loss{loss_.is_one_sided(), bias_, bias_};
    const double* bias = &weights[rows_.features() * joint_width];
    double* bias_sums = sums + rows_.features() * joint_width;
    RowBuffer buffer;
    for (std::size_t i = begin; i < end; ++i) {
        if (unit_[i] == 0.0) {
            continue;
        }
        if (i + 8 < end) {
            rows.prefetch(i + 8);
        }
        const JointRow row{infinity, loss_.diagonal(C_ * unit_[i]), 0.0};
        joint_slopes(loss, row, rows.entries(i, buffer), &signs_[i * joint_width], weights.data(), bias,
                     &beta_[i * joint_width], losses.data(), terms.data(), sums, bias_sums);
    }
}

void FoldNewton::evaluate(const std::vector<double>& weights, Team* team, Values& values) {
    const std::size_t size = width() * joint_width;
    const std::size_t stored = rows_.stored();
    const Chunks chunks(rows_.size(), stored, size);
    ChunkSums sums(chunks, size);
    std::vector<Lane> losses(chunks.count()), terms(chunks.count());
    rows_.rows().with_view([&](const auto& view) {
        chunks.for_each(team, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
            losses[chunk].fill(0.0);
            terms[chunk].fill(0.0);
            evaluate_part(view, weights, begin, end, sums.of(chunk), losses[chunk], terms[chunk]);
        });
    });
    values.sums.assign(size, 0.0);
    sums.add_to(values.sums);
    values.losses.fill(0.0);
    values.terms.fill(0.0);
    for (std::size_t chunk = 0; chunk < chunks.count(); ++chunk) {
        for (std::size_t m = 0; m < joint_width; ++m) {
            values.losses[m] += losses[chunk][m];
            values.terms[m] += terms[chunk][m];
        }
    }
}

// Rows that become curved, or cease to be, in the same problems are one group. Its sum is made once where that is less
// work than to add its rows to the matrix of each problem.
void FoldNewton::update_curved(Team* team) {
    std::array<std::vector<RowIndex>, all_masks> groups;
    std::array<std::vector<double>, all_masks> scales;
    std::array<std::size_t, all_masks> work{};
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        unsigned now = 0;
        for (std::size_t m = 0; m < lanes_; ++m) {
            const std::size_t k = i * joint_width + m;
            now |= (loss_.is_one_sided() ? beta_[k] != 0.0 : signs_[k] != 0) ? 1U << m : 0U;
        }
        const unsigned before = curved_[i], entering = now & ~before, leaving = before & ~now;
        const std::size_t stored = rows_.rows().stored(i);
        for (const unsigned mask : {entering, leaving}) {
            if (mask != 0) {
                groups[mask].push_back(static_cast<RowIndex>(i));
                scales[mask].push_back(mask == entering ? unit_[i] : -unit_[i]);
                work[mask] += stored * stored / 2;
            }
        }
        curved_[i] = static_cast<std::uint8_t>(now);
    }
    for (std::size_t mask = 1; mask < all_masks; ++mask) {
        if (groups[mask].empty()) {
            continue;
        }
        const auto members = static_cast<std::size_t>(std::popcount(mask));
        const bool share = (members - 1) * work[mask] > members * width() * width() / 2;
        if (share) {
            shared_.clear();
            add_outers(groups[mask], scales[mask], shared_, team);
        }
        for (std::size_t m = 0; m < lanes_; ++m) {
            if ((mask >> m & 1U) == 0) {
                continue;
            }
            if (!share) {
                add_outers(groups[mask], scales[mask], scatters_[m], team);
                continue;
            }
            for (std::size_t k = 0; k < width(); ++k) {
                dense_axpy(1.0, shared_.row(k), scatters_[m].row(k), k + 1);
            }
        }
    }
}

void FoldNewton::add_outers(std::span<const RowIndex> rows, std::span<const double> scales, SymmetricMatrix& sum,
                            Team* team) const {
    const std::size_t last = rows_.features();
    const UserRows& own = rows_.rows();
    auto add = [&](std::size_t first, std::size_t past) {
        own.add_outers(rows, scales.data(), sum, first, past);
        for (std::size_t k = 0; k < rows.size() && past == width(); ++k) {
            own.axpy(rows[k], scales[k] * bias_, sum.row(last));
            sum.row(last)[last] += scales[k] * bias_ * bias_;
        }
    };
    if (team == nullptr) {
        add(0, width());
    } else {
        for_all(team, n_bands, [&](std::size_t k) { add(width() * k / n_bands, width() * (k + 1) / n_bands); });
    }
}

bool FoldNewton::factorise(std::size_t lane) {
    return factorise_shifted(scatters_[lane], loss_.inverse_diagonal(C_), factors_[lane]);
}

void FoldNewton::find_direction(std::size_t lane) {
    std::vector<double> d(width());
    for (std::size_t j = 0; j < width(); ++j) {
        d[j] = now_.sums[j * joint_width + lane] - weights_[j * joint_width + lane];
    }
    solve_factorised(factors_[lane], d);
    for (std::size_t j = 0; j < width(); ++j) {
        direction_[j * joint_width + lane] = d[j];
    }
}

double FoldNewton::dot(const std::vector<double>& a, const std::vector<double>& b, std::size_t lane) const {
    double sum = 0.0;
    for (std::size_t k = lane; k < a.size(); k += joint_width) {
        sum += a[k] * b[k];
    }
    return sum;
}

double FoldNewton::primal(const std::vector<double>& weights, const Values& values, std::size_t lane) const {
    return 0.5 * dot(weights, weights, lane) + values.losses[lane];
}

double FoldNewton::dual(const Values& values, std::size_t lane) const {
    return values.terms[lane] - 0.5 * dot(values.sums, values.sums, lane);
}

// The weights of a problem to its bounds, and if asked to the variables that belong to them.
void FoldNewton::offer(const JointProblem& problem, std::size_t lane, bool variables) const {
    BinaryState& state = problem.state;
    std::vector<double> weights(width());
    for (std::size_t j = 0; j < width(); ++j) {
        weights[j] = weights_[j * joint_width + lane];
    }
    state.bounds.offer_weights(primal(weights_, now_, lane), weights);
    if (variables) {
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            const std::size_t k = i * joint_width + lane;
            state.variables[i].alpha = signs_[k] * beta_[k];
        }
        state.visit([&](const auto& own) { state.offer_variables(dual(now_, lane), own, 0.0); });
    }
}

std::vector<Outcome> FoldNewton::solve(std::span<const JointProblem> problems, const Limits& limits) {
    Monitor& watch = problems[0].monitor;
    Team* const team = watch.team();
    const std::size_t stored = rows_.stored();
    if (unit_.empty()) {
        read(problems);
    }
    check(problems);
    scale_to(largest_C(problems));
    if (!known_) {
        evaluate(weights_, team, now_);
        known_ = true;
    }
    std::vector<Outcome> outcomes(lanes_, Outcome{Exit::budget, 0});
    std::array<bool, joint_width> done{}, moved{};
    moved.fill(true);
    Lane step{}, value{}, slope{};
    std::size_t left = lanes_;
    for (std::int64_t iteration = 0;; ++iteration) {
        const bool last = iteration >= limits.max_iter || watch.ended();
        for (std::size_t m = 0; m < lanes_; ++m) {
            if (done[m] || !(moved[m] || last)) {
                continue;
            }
            const double upper = primal(weights_, now_, m), lower = dual(now_, m);
            value[m] = upper;
            const bool reached_it = moved[m] && relative_gap(upper, lower) <= limits.tol;
            offer(problems[m], m, moved[m] && (reached_it || last));
            done[m] = reached_it && reached(problems[m].state, limits.tol, problems[m].monitor);
            outcomes[m] = {done[m] ? Exit::converged : Exit::budget, iteration};
            if (done[m] || last) {
                problems[m].monitor.report(iteration, static_cast<double>(iteration), rows_.size(),
                                           problems[m].state.bounds);
                step[m] = 0.0;
                left -= done[m] ? 1 : 0;
            }
        }
        if (left == 0 || last) {
            break;
        }
        update_curved(team);
        std::array<bool, joint_width> whole{};
        for_all(team, lanes_, [&](std::size_t m) { whole[m] = done[m] || !moved[m] || factorise(m); });
        if (!std::all_of(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(lanes_), std::identity{})) {
            break;  // rounding: each problem goes on by itself
        }
        for (std::size_t m = 0; m < lanes_; ++m) {
            if (!done[m] && moved[m]) {
                find_direction(m);
                slope[m] = dot(weights_, direction_, m) - dot(now_.sums, direction_, m);
                step[m] = 1.0;
            }
        }
        trial_ = weights_;
        for (std::size_t k = 0; k < trial_.size(); ++k) {
            trial_[k] += step[k % joint_width] * direction_[k];
        }
        evaluate(trial_, team, next_);
        watch.poll(2 * stored);
        known_ = true;
        for (std::size_t m = 0; m < lanes_; ++m) {
            const double found = primal(trial_, next_, m);
            moved[m] = done[m] || found <= value[m] + least_decrease * step[m] * slope[m];
            if (!moved[m]) {
                known_ = false;
                const double excess = found - value[m] - step[m] * slope[m];
                const double best = -0.5 * slope[m] * step[m] * step[m] / excess;
                step[m] =
                    std::isfinite(best) ? std::clamp(best, shortest * step[m], longest * step[m]) : shortest * step[m];
                continue;
            }
            for (std::size_t j = 0; j < width(); ++j) {
                const std::size_t k = j * joint_width + m;
                weights_[k] = trial_[k];
                now_.sums[k] = next_.sums[k];
            }
            now_.losses[m] = next_.losses[m];
            now_.terms[m] = next_.terms[m];
        }
    }
    return outcomes;
}

}  // namespace maxmargin
