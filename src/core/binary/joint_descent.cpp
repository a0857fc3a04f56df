#include "binary/joint_descent.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include "binary/anchored_bias.hpp"
#include "binary/certificate.hpp"
#include "binary/orders.hpp"
#include "numeric/compiler.hpp"
#include "numeric/huge_array.hpp"
#include "numeric/joint_kernels.hpp"
#include "rows/rows.hpp"
#include "run/random.hpp"
#include "run/reached.hpp"

namespace maxmargin {
namespace {

using Lane = std::array<double, joint_width>;

template <class Value>
void prefetch_weights(const RowEntries<Value>& row, const double* weights) {
    for (std::size_t k = 0; k < row.near_count; ++k) {
        MAXMARGIN_PREFETCH_TO_WRITE(weights + std::size_t{row.near[k]} * joint_width);
    }
    for (std::size_t k = 0; k < row.count - row.near_count; ++k) {
        MAXMARGIN_PREFETCH_TO_WRITE(weights + std::size_t{row.far[k]} * joint_width);
    }
    MAXMARGIN_PREFETCH_TO_WRITE(weights + row.last_column * joint_width);
}

HugeArray<double> make_zeros(std::size_t count) {
    HugeArray<double> zeros = make_huge_array<double>(count);
    std::fill_n(zeros.get(), count, 0.0);
    return zeros;
}

class JointDescent {
  public:
    JointDescent(std::span<const JointProblem> problems, const SweptRows& rows, const Shuffle& shuffle,
                 const Limits& limits)
        : problems_(problems),
          rows_(rows),
          exact_(rows.is_exact()),
          limits_(limits),
          bias_(problems[0].state.bias.value),
          anchor_(problems[0].state.variables, problems[0].state.loss, problems[0].state.bias, true),
          loss_{problems[0].state.loss.is_one_sided(), bias_, anchor_.step()},
          watch_(problems[0].monitor),
          random_(limits.seed),
          shuffle_(shuffle),
          outcomes_(problems.size(), Outcome{Exit::budget, 0}) {
        read_rows();
        read_variables();
    }

    std::vector<Outcome> run() {
        for (std::int64_t epoch = 1; left_ > 0; ++epoch) {
            const bool ended = !sweep();
            move_anchors();
            const bool last = ended || epoch >= limits_.max_iter;
            certify(to_check(epoch, last), epoch);
            if (last || any_ended()) {
                break;
            }
        }
        return outcomes_;
    }

  private:
    static constexpr std::size_t row_ahead = 6, start_ahead = 16;
    static constexpr std::size_t cached = std::size_t{1} << 18;  // bytes of weights that need no prefetch
    static constexpr double most = 1e300;                        // in the place of an infinite bound

    std::size_t features() const { return rows_.features(); }

    // What the problems have in common: the weights of rows, and what follows from them.
    void read_rows() {
        const Loss& loss = problems_[0].state.loss;
        row_of_.resize(rows_.size());
        for (std::size_t i = 0; i < row_of_.size(); ++i) {
            double C = 0.0;
            for (const JointProblem& problem : problems_) {
                const Variable& v = problem.state.variables[i];
                if (!v.takes_part()) {
                    continue;
                }
                if (C != 0.0 && C != v.C()) {
                    throw std::invalid_argument("problems that are solved together must agree on C");
                }
                C = v.C();
                row_of_[i] = {std::min(loss.upper(C), most), loss.diagonal(C), v.curvature + anchor_.curvature()};
            }
            if (C > 0.0) {
                all_.push_back(static_cast<RowIndex>(i));
            }
        }
        active_ = all_;
        hidden_.assign(rows_.size(), false);
    }

    // Signs, variables and their weights, from the best bounds of each problem.
    void read_variables() {
        signs_.assign(rows_.size() * joint_width, 0);
        beta_ = make_zeros(rows_.size() * joint_width);
        weights_ = make_zeros(features() * joint_width);
        bool warm = false;
        for (std::size_t m = 0; m < problems_.size(); ++m) {
            const BinaryState& state = problems_[m].state;
            const std::vector<double>& alphas = state.bounds.variables();
            double imbalance = 0.0;
            for (const RowIndex i : all_) {
                const Variable& v = state.variables[i];
                signs_[i * joint_width + m] = static_cast<std::int8_t>(!v.takes_part() ? 0 : v.sign() > 0.0 ? 1 : -1);
                beta_[i * joint_width + m] = v.sign() * alphas[i];
                imbalance += v.sign() * alphas[i];
                warm = warm || alphas[i] != 0.0;
            }
            dual_[m] = state.bounds.dual();
            anchors_[m] = anchor_.anchored() ? bias_ * imbalance : 0.0;
            lanes_.bias[m] = anchor_.step() * imbalance + anchor_.carry() * anchors_[m];
        }
        if (warm) {
            rows_.with_view([&](const auto& rows) {
                for (const RowIndex i : all_) {
                    joint_add(rows.entries(i, buffers_[0]), &beta_[i * joint_width], weights_.get());
                }
            });
        }
        gap_before_.fill(0.0);
        left_ = problems_.size();
        take_back();
    }

    void take_back() {
        active_ = all_;
        std::fill(hidden_.begin(), hidden_.end(), false);
        hidden_gap_.fill(0.0);
        std::fill_n(lanes_.above, joint_width, infinity);
        std::fill_n(lanes_.below, joint_width, -infinity);
    }

    // One epoch; false when a limit ended it.
    bool sweep() {
        return rows_.with_view([&](const auto& rows) { return sweep_over(rows); });
    }

    template <class View>
    bool sweep_over(const View& rows) {
        shuffle_.fill(active_, schedule_, random_);
        if (steps_ > 0.0) {
            std::copy_n(lanes_.gap, joint_width, gap_before_.begin());
        }
        for (double* each : {lanes_.gain, lanes_.gap, lanes_.highest, lanes_.lowest}) {
            std::fill_n(each, joint_width, 0.0);
        }
        const bool fetch = features() * joint_width * sizeof(double) > cached;
        std::size_t shrunk = 0;
        if (schedule_.empty()) {
            return true;
        }
        auto next = rows.entries(schedule_[0], buffers_[0]);
        for (std::size_t k = 0; k < schedule_.size(); ++k) {
            if (k + start_ahead < schedule_.size()) {
                rows.prefetch_start(schedule_[k + start_ahead]);
            }
            if (k + row_ahead < schedule_.size()) {
                const std::size_t ahead = schedule_[k + row_ahead];
                rows.prefetch(ahead);
                MAXMARGIN_PREFETCH_TO_WRITE(&beta_[ahead * joint_width]);
                MAXMARGIN_PREFETCH(&signs_[ahead * joint_width]);
                MAXMARGIN_PREFETCH(&row_of_[ahead]);
            }
            const std::size_t i = schedule_[k];
            const auto entries = next;
            if (k + 1 < schedule_.size()) {
                next = rows.entries(schedule_[k + 1], buffers_[(k + 1) % 2]);
                if (fetch) {
                    prefetch_weights(next, weights_.get());
                }
            }
            const JointVisit visit = joint_visit(loss_, row_of_[i], entries, &signs_[i * joint_width],
                                                 &beta_[i * joint_width], weights_.get(), lanes_);
            if (visit == JointVisit::hidden) {
                hidden_[i] = true;
                ++shrunk;
            }
            if (watch_.poll(2 * entries.count + 16)) {
                return false;
            }
        }
        steps_ += static_cast<double>(schedule_.size());
        for (std::size_t m = 0; m < joint_width; ++m) {
            dual_[m] += lanes_.gain[m];
            lanes_.above[m] = lanes_.highest[m] > 0.0 ? lanes_.highest[m] : infinity;
            lanes_.below[m] = lanes_.lowest[m] < 0.0 ? lanes_.lowest[m] : -infinity;
        }
        if (shrunk > 0) {
            std::erase_if(active_, [this](RowIndex i) { return hidden_[i]; });
        }
        return true;
    }

    void move_anchors() {
        for (std::size_t m = 0; m < joint_width && anchor_.anchored(); ++m) {
            const double moved = lanes_.bias[m] - anchors_[m];
            anchors_[m] = lanes_.bias[m];
            lanes_.bias[m] += anchor_.carry() * moved;
        }
    }

    // Which problems may have reached the tolerance. A pass over the rows serves them all, so it is not made after
    // every epoch.
    std::vector<std::size_t> to_check(std::int64_t epoch, bool all) const {
        std::vector<std::size_t> found;
        for (std::size_t m = 0; m < problems_.size() && (all || epoch >= next_check_); ++m) {
            const double gap = trust_of(m) * lanes_.gap[m] + hidden_gap_[m];
            if (!gone_[m] && (all || gap <= limits_.tol * std::abs(dual_[m] + gap))) {
                found.push_back(m);
            }
        }
        return found;
    }

    // Exact gap over the estimate of the sweep, when both were last known. Before that, as much as the estimate has
    // fallen by in an epoch: it is the gap of some moment within the epoch, not of its end.
    double trust_of(std::size_t m) const {
        if (trust_[m] > 0.0 || gap_before_[m] == 0.0) {
            return trust_[m] > 0.0 ? trust_[m] : 1.0;
        }
        return clip(lanes_.gap[m] / gap_before_[m], 0.1, 1.0);
    }

    // Both values of some problems, offered to their bounds. Those that have reached the tolerance leave.
    void certify(const std::vector<std::size_t>& checked, std::int64_t epoch) {
        if (checked.empty()) {
            return;
        }
        next_check_ = epoch + 1 + epoch / 4;
        Lane losses{}, gaps{}, seen{}, sums{}, terms{}, squares{}, terms_squared{};
        rows_.with_view([&](const auto& rows) {
            for (const RowIndex i : all_) {
                const double* beta = &beta_[i * joint_width];
                const std::int8_t* signs = &signs_[i * joint_width];
                joint_losses(loss_, row_of_[i], rows.entries(i, buffers_[0]), signs, beta, weights_.get(), lanes_.bias,
                             losses.data(), hidden_[i] ? gaps.data() : seen.data());
                const double half = 0.5 * row_of_[i].diagonal, norm = row_of_[i].curvature - row_of_[i].diagonal;
                for (std::size_t m = 0; m < joint_width; ++m) {
                    terms_squared[m] = std::max(terms_squared[m], beta[m] * beta[m] * norm);
                    sums[m] += beta[m];
                    terms[m] += beta[m] * (static_cast<double>(signs[m]) - half * beta[m]);
                }
            }
        });
        for (std::size_t j = 0; j < features(); ++j) {
            for (std::size_t m = 0; m < joint_width; ++m) {
                squares[m] += weights_[j * joint_width + m] * weights_[j * joint_width + m];
            }
        }
        read_weights(checked);
        bool take_rows_back = false;
        for (const std::size_t m : checked) {
            hidden_gap_[m] = gaps[m];
            const double difference =
                offer(m, losses[m], terms[m], bias_ * sums[m], squares[m], std::sqrt(terms_squared[m]));
            const bool converged = reached(problems_[m].state, limits_.tol, problems_[m].monitor);
            outcomes_[m] = {converged ? Exit::converged : Exit::budget, epoch};
            problems_[m].monitor.report(epoch, static_cast<double>(epoch), active_.size(), problems_[m].state.bounds);
            if (converged) {
                leave(m);
            } else {
                take_rows_back = take_rows_back || gaps[m] > 0.5 * difference;
            }
        }
        if (take_rows_back) {
            take_back();
        }
    }

    // The weights of some lanes, for the user's columns.
    void read_weights(const std::vector<std::size_t>& lanes) {
        for (const std::size_t m : lanes) {
            found_[m].assign(problems_[m].state.rows().features() + 1, 0.0);
            found_[m].back() = lanes_.bias[m];
        }
        rows_.for_each_place([&](std::size_t to, std::size_t from, double factor) {
            for (const std::size_t m : lanes) {
                found_[m][to] = factor * weights_[from * joint_width + m];
            }
        });
    }

    // `own` is the bias weight that belongs to the variables, `term` the length of the longest row times its variable.
    // Returns primal - dual.
    double offer(std::size_t m, double losses, double terms, double own, double square, double term) {
        Bounds<std::vector<double>>& bounds = problems_[m].state.bounds;
        const double bias = lanes_.bias[m], primal = 0.5 * (square + bias * bias) + losses;
        const double dual = terms - 0.5 * (square + own * own);
        const double drift = drift_of_dual(steps_, std::sqrt(square + own * own), term);
        bounds.offer_weights(primal, found_[m], exact_ ? 0.0 : infinity);
        bounds.offer_variables(
            dual,
            [&](std::vector<double>& best) {
                best.assign(rows_.size(), 0.0);
                for (const RowIndex i : all_) {
                    best[i] = signs_[i * joint_width + m] * beta_[i * joint_width + m];
                }
            },
            exact_ ? drift : infinity);
        if (lanes_.gap[m] > 0.0) {
            // The sweep knows nothing of the anchor.
            const double largest = anchor_.anchored() ? infinity : 1.0;
            trust_[m] = clip((primal - dual - hidden_gap_[m]) / lanes_.gap[m], 0.1, largest);
        }
        dual_[m] = dual;
        return primal - dual;
    }

    bool any_ended() const {
        return std::any_of(problems_.begin(), problems_.end(), [](const JointProblem& p) { return p.monitor.ended(); });
    }

    // A lane without a problem: no row takes part in it.
    void leave(std::size_t m) {
        gone_[m] = true;
        --left_;
        for (const RowIndex i : all_) {
            signs_[i * joint_width + m] = 0;
            beta_[i * joint_width + m] = 0.0;
        }
    }

    std::span<const JointProblem> problems_;
    const SweptRows& rows_;
    bool exact_;  // whether the rows have the user's values
    const Limits& limits_;
    double bias_;
    AnchoredBias anchor_;
    JointLoss loss_;
    Monitor& watch_;
    Random random_;
    Shuffle shuffle_;
    std::vector<Outcome> outcomes_;
    std::vector<RowIndex> all_, active_, schedule_;
    std::vector<bool> hidden_;
    std::vector<JointRow> row_of_;
    std::vector<std::int8_t> signs_;  // of each row and lane
    HugeArray<double> beta_, weights_;
    JointLanes lanes_{};
    Lane anchors_{}, dual_{}, hidden_gap_{};
    Lane trust_{}, gap_before_{};
    std::array<bool, joint_width> gone_{};
    std::size_t left_ = 0;
    RowBuffer buffers_[2];                                // for a row and the next one
    std::array<std::vector<double>, joint_width> found_;  // weights of a lane when it was last certified
    std::int64_t next_check_ = 1;
    double steps_ = 0.0;
};

}  // namespace

std::vector<Outcome> joint_descent(std::span<const JointProblem> problems, bool pack, const Limits& limits) {
    const AnyRows& rows = problems.front().state.rows();
    for (const JointProblem& problem : problems) {
        if (&problem.state.rows() != &rows || problem.state.bias.free || problems.size() > joint_width ||
            rows.features() + rows.size() > std::numeric_limits<std::uint32_t>::max()) {
            throw std::invalid_argument("up to eight problems that share their rows are solved together");
        }
    }
    const Shuffle shuffle(good_mixing(rows.rows()), row_bytes(rows.rows()));
    const SweptRows swept = rows.swept(pack, limits.tol < exact_below);
    return JointDescent(problems, swept, shuffle, limits).run();
}

}  // namespace maxmargin
