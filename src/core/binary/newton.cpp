// Newton's method in the primal. With the slacks z_i and a_i = clip(z_i / D_i, lower, U_i), the slope of the loss, the
// gradient is w - sum a_i sign_i x_i and the Hessian I + sum over unclipped ("curved") rows of x_i x_i' / D_i:
// piecewise constant, so that full steps end in the exact minimum once the curved rows are known (Keerthi & DeCoste
// 2005).
//
// The a_i are dual feasible, so each step comes with both bounds. The hinge has D = 0 and no Hessian: it is smoothed
// with a width that is driven down. At the optimum of width g only rows with 0 < z_i < g add to the hinge's own gap, at
// most C_i g / 4 each; and once these rows are the right ones, their variables are solved for exactly (newton_end.hpp).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "binary/bias_search.hpp"
#include "binary/line_search.hpp"
#include "binary/methods.hpp"
#include "binary/near_rows.hpp"
#include "binary/newton_end.hpp"
#include "binary/newton_system.hpp"
#include "numeric/slope_kernels.hpp"
#include "run/chunks.hpp"
#include "run/reached.hpp"

namespace maxmargin {
namespace {

template <RowSource Rows>
class Newton {
  public:
    Newton(BinaryState& state, BinaryProblem<Rows> problem, const Limits& limits, Monitor& monitor)
        : state_(state),
          problem_(problem),
          limits_(limits),
          monitor_(monitor),
          smooth_(problem.loss),
          smoothing_(problem.loss.is_hinge()),
          near_(problem_, monitor.team()),
          gradient_(problem.features() + 1),
          direction_(problem.features() + 1) {
        if (gradient_.size() <= most_dense) {
            hessian_.emplace(problem_, monitor);
        }
        if (smoothing_) {
            smooth_.diagonal_times_C = width_for(known_gap(), first_width);
        }
    }

    Outcome run() {
        std::vector<double> w = state_.bounds.weights();
        const bool sampled = may_sample(w);
        if (sampled) {
            start_from_sample(w);
        }
        near_.collect(w, smooth_, infinity);
        if (smoothing_ && !sampled && (!smooth_.is_one_sided() || problem_.bias.slope != 0.0)) {
            smooth_.diagonal_times_C = typical_distance();
            find_bias(w);
            const double typical = typical_distance();
            smooth_.diagonal_times_C = problem_.bias.slope != 0.0 ? typical : width_for(known_gap(), typical);
        }
        find_bias(w);
        for (std::int64_t iteration = 1;; ++iteration) {
            const Values now = differentiate(w);
            const bool converged = reached(state_, limits_.tol, monitor_);
            monitor_.report(iteration, static_cast<double>(iteration), curved_.size(), state_.bounds);
            if (converged) {
                return {Exit::converged, iteration};
            }
            const bool stuck = stalls(iteration, now);
            if (monitor_.look() || iteration >= limits_.max_iter || stuck) {
                return finish(w, now, iteration, stuck ? Exit::budget : Exit::max_iter);
            }
            const bool stage_done = smoothing_ && now.smooth_gap < 0.5 * (now.primal - now.dual);
            const double gap = relative_gap(now.primal, now.dual);
            if (!stage_done) {
                find_direction(curved_);
            }
            if ((stage_done ? may_end_stage(gap) : promises_little(now.primal)) && end(w, now, false)) {
                monitor_.report(iteration, static_cast<double>(iteration), curved_.size(), state_.bounds);
                return {Exit::converged, iteration};
            }
            if (!stage_done && may_sweep(now.primal) && end_by_sweeps(now)) {
                monitor_.report(iteration, static_cast<double>(iteration), curved_.size(), state_.bounds);
                return {Exit::converged, iteration};
            }
            if (monitor_.ended()) {
                return {monitor_.exit(), iteration};
            }
            if (stage_done) {
                narrow(w);
            } else {
                move(w);
            }
        }
    }

  private:
    static constexpr std::size_t most_dense = 1025;                 // features and bias
    static constexpr double first_width = 1.0, least_width = 1e-3;  // the least one in widest ones
    static constexpr double narrowing = 0.25;
    static constexpr double worth_shrinking = 3.0;  // the radius of near rows, in what is needed
    static constexpr double reach = 4.0;            // of near rows, in lengths of the step that they are collected for
    static constexpr double most_passes_per_stage = 2.0;  // for an exact end that may come too early
    static constexpr double always_cheap = 2e7;           // stored values; some ten milliseconds
    static constexpr double close = 4.0;                  // to the tolerance, for coordinate descent to be tried
    static constexpr double polish_passes = 12.0;         // and how much of it
    // Of the tolerance: what a step promises where only the dual value is missing, by conjugate gradients and with a
    // matrix, whose next step mostly brings it.
    static constexpr double little = 0.1, very_little = 1e-4;
    static constexpr double worth_sweeping = 0.05, sweeps_of_curved = 3.0;  // the same, for sweeps over curved rows
    // Sweeps visit rows in any order and one after the other. Beyond so many stored values, which caches do not hold,
    // the next step is done before they are, unless its matrix costs more than a pass.
    static constexpr std::size_t most_swept = std::size_t{1} << 22;
    // A sample has so many rows for each weight, so many at the least, and one row in so many at the least. The hinge
    // is narrowed on it only where it is a small share of the rows.
    static constexpr std::size_t rows_per_weight = 20, least_sample = 1000, most_rows_per_sampled = 64,
                                 worth_narrowing = 10;
    static constexpr int most_sample_steps = 20;
    static constexpr double enough_of_sample = 0.01, least_sample_width = 0.5;
    static constexpr double enough_curvature = 80.0;  // of the loss on a sample, in those of the regulariser
    static constexpr int most_bias_trials = 10;
    static constexpr std::size_t block = 256;  // rows that are looked at together
    static constexpr double rounding = 1e-10;  // of sum_i sign_i a_i, in sums of |a_i|
    static constexpr std::size_t first_cg_rounds = 30, more_cg_rounds = 10;
    static constexpr std::int64_t most_idle_steps = 60;

    struct Values {
        double primal;      // of the true problem, at w
        double dual;        // at the alphas of w
        double smooth_gap;  // primal - dual of the smoothed problem: what Newton steps can still remove
    };

    // Whether rows are so many that a sample of them gives a good start, and none is known.
    bool may_sample(const std::vector<double>& w) const {
        const bool started = std::any_of(w.begin(), w.end(), [](double value) { return value != 0.0; });
        return hessian_ && !started && problem_.bias.slope == 0.0 && sample_step() > 1;
    }
    std::size_t sample_step() const {
        const std::size_t enough = std::max(rows_per_weight * gradient_.size(), least_sample);
        return std::min(problem_.size() / enough, most_rows_per_sampled);
    }

    // Newton steps on a sample, of which each row stands for many, until what they promise is less than what the sample
    // leaves open. Its values are no bounds. With a large C it would be fitted better than all rows can be, by weights
    // far from theirs: it has the smaller C that leaves the regulariser a say.
    void start_from_sample(std::vector<double>& w) {
        sampling_ = true;
        weight_ = static_cast<double>(sample_step());
        near_.sample(w, sample_step());
        if (smoothing_ && !smooth_.is_one_sided()) {
            smooth_.diagonal_times_C = typical_distance();
            find_bias(w);
            smooth_.diagonal_times_C = typical_distance();
        }
        weight_ *= std::min(1.0, enough_curvature / typical_curvature());
        for (double& C : near_.C) {
            C *= weight_;
        }
        find_bias(w);
        for (int trial = 0; trial < most_sample_steps && !monitor_.look(); ++trial) {
            const Values now = differentiate(w);
            find_direction(curved_);
            if (-0.5 * dot(gradient_, direction_) > enough_of_sample * now.primal) {
                move(w);
            } else if (may_narrow_on_sample()) {
                narrow(w);
            } else {
                break;
            }
        }
        sampling_ = false;
        weight_ = 1.0;
        hessian_->reset();
    }

    // What is a narrow width goes by the margin of the hinge, and elsewhere by the distances that are left.
    bool may_narrow_on_sample() const {
        return smoothing_ && sample_step() >= worth_narrowing &&
               smooth_.diagonal_times_C >
                   least_sample_width * (smooth_.is_one_sided() ? first_width : 4.0 * typical_distance());
    }

    // The geometric mean of the diagonal of the Hessian with all rows of the sample curved: columns of other scales do
    // not change it much.
    double typical_curvature() const {
        std::vector<double> diagonal(gradient_.size(), 0.0);
        for (const RowIndex i : near_.rows) {
            problem_.rows.add_squares(i, problem_.variables[i].C(), diagonal.data());
        }
        double logs = 0.0, count = 0.0;
        for (const double sum : diagonal) {
            if (sum > 0.0) {
                logs += std::log(sum);
                count += 1.0;
            }
        }
        return count > 0.0 ? weight_ / smooth_.diagonal_times_C * std::exp(logs / count) : 0.0;
    }

    // Of so many rows, in stored values.
    std::size_t average_work(std::size_t rows) const {
        return rows * problem_.rows.stored() / std::max<std::size_t>(problem_.size(), 1);
    }

    double known_gap() const { return state_.bounds.primal() - state_.bounds.dual(); }

    // The width at which smoothing cannot add more than the gap that there is: it is the widest without a start.
    double width_for(double gap, double widest) const {
        double C = 0.0;
        for (const Variable& v : problem_.variables) {
            C += v.C();
        }
        return std::clamp(4.0 * gap / C, least_width * widest, widest);
    }

    // The mean distance of slacks from where they cost nothing: the scale of targets and scores, which a first width
    // must have.
    double typical_distance() const {
        // Most rows of one class keep their bounds from the start: a narrow width leaves few rows to be looked at.
        const double share = problem_.bias.slope != 0.0 ? 0.02 : 1.0;
        double sum = 0.0;
        for (const double z : near_.slack) {
            sum += std::abs(smooth_.outside(z));
        }
        return sum > 0.0 ? share * sum / static_cast<double>(near_.slack.size()) : first_width;
    }

    double free_variables_cost() const { return FreeVariables<Rows>::cost(curved_.size(), problem_); }

    // Whether it is time to look for a dual end. A stage that is done has the right rows, perhaps.
    bool may_end_stage(double gap) const {
        const double stored = static_cast<double>(problem_.rows.stored());
        return free_variables_cost() <= most_passes_per_stage * stored || may_polish(gap);
    }
    bool may_polish(double gap) const { return smoothing_ && gap <= std::min(close * limits_.tol, next_polish_); }

    // Whether the primal value is as good as it needs to be, so that only the dual one is missing.
    bool promises_little(double primal) {
        const double promise = -0.5 * dot(gradient_, direction_);
        const double share = hessian_ ? very_little : little;
        if (smoothing_ || promise > std::min(share * limits_.tol * std::abs(primal), next_end_)) {
            return false;
        }
        next_end_ = 0.1 * promise;
        return true;
    }

    // Whether the primal value is within the tolerance: that of the dual variables lags behind by a step or two, which
    // sweeps can save.
    bool may_sweep(double primal) {
        const double promise = -0.5 * dot(gradient_, direction_);
        const double enough = std::min(worth_sweeping * limits_.tol * std::abs(primal), next_sweep_);
        if (smoothing_ || problem_.bias.free || !hessian_ || promise > enough) {
            return false;
        }
        next_sweep_ = 0.01 * promise;
        return true;
    }

    bool end_by_sweeps(const Values& now) {
        problem_.copy_alphas(kept_, monitor_.team());
        NewtonEnd<Rows> dual(state_, problem_, limits_.tol, monitor_, std::vector<double>(gradient_.size()), now.dual);
        const std::size_t stored = problem_.rows.stored();
        const bool pays = stored <= most_swept || hessian_->work() >= stored;
        dual.sweep_curved(smooth_, curved_, direction_, pays ? sweeps_of_curved : 0.0);
        problem_.assign(kept_, monitor_.team());
        return reached(state_, limits_.tol, monitor_);
    }

    // Better dual variables; true when they bring the gap within the tolerance. The alphas of w come back.
    bool end(const std::vector<double>& w, const Values& now, bool last) {
        problem_.copy_alphas(kept_, monitor_.team());
        std::vector<double> sums = w;
        dense_axpy(-1.0, gradient_.data(), sums.data(), sums.size());
        if (problem_.bias.free) {
            sums.back() = w.back();
        }
        NewtonEnd<Rows> dual(state_, problem_, limits_.tol, monitor_, std::move(sums), now.dual);
        const double affordable = std::max(8.0 * static_cast<double>(problem_.rows.stored()), always_cheap);
        if (smoothing_ && free_variables_cost() <= affordable) {
            dual.solve_free_variables();
        }
        if (hessian_ && !dual.reached() && (last || !smoothing_)) {
            dual.refine(*hessian_, smooth_, curved_);
        }
        if (!hessian_ && !dual.reached()) {
            dual.solve_curved(smooth_, curved_);
        }
        const double gap = relative_gap(now.primal, now.dual);
        if (smoothing_ && !dual.reached() && !problem_.bias.free && (last || may_polish(gap))) {
            next_polish_ = gap / close;
            dual.polish(polish_passes);
        }
        problem_.assign(kept_, monitor_.team());
        return reached(state_, limits_.tol, monitor_);
    }

    Outcome finish(const std::vector<double>& w, const Values& now, std::int64_t iteration, Exit reason) {
        const bool converged = !monitor_.ended() && end(w, now, true);
        if (converged) {
            monitor_.report(iteration, static_cast<double>(iteration), curved_.size(), state_.bounds);
        }
        return {converged ? Exit::converged : monitor_.ended() ? monitor_.exit() : reason, iteration};
    }

    // Whether neither the gap nor the objective has become much better for many steps: rounding errors are in the way.
    bool stalls(std::int64_t iteration, const Values& now) {
        const double gap = relative_gap(now.primal, now.dual);
        if (gap < 0.7 * pace_gap_ || !(now.primal > pace_primal_ - 0.01 * std::abs(pace_primal_))) {
            pace_gap_ = std::min(pace_gap_, gap);
            pace_primal_ = std::min(pace_primal_, now.primal);
            pace_iteration_ = iteration;
        }
        return iteration - pace_iteration_ > most_idle_steps || !std::isfinite(now.primal);
    }

    // Alphas, gradient, curved rows and both values at w, from the slacks.
    Values differentiate(const std::vector<double>& w) {
        curved_.clear();
        double losses = 0.0, smooth_losses = 0.0, alphas = 0.0, terms = 0.0, sizes = 0.0;
        std::fill(gradient_.begin(), gradient_.end(), 0.0);
        if (near_.far_C() > 0.0) {
            const double U = smooth_.upper_per_C, far = dot(w, near_.far_sum());
            alphas = U * near_.far_targets();
            sizes = U * near_.far_C();
            terms = 0.5 * smooth_.diagonal_times_C * U * U * near_.far_C();
            losses = alphas - U * far;
            smooth_losses = losses - terms;
            for (std::size_t j = 0; j < gradient_.size(); ++j) {
                gradient_[j] = U * near_.far_sum()[j];
            }
        }
        const Chunks chunks = near_.chunks(gradient_.size());
        ChunkSums sums(chunks, gradient_.size());
        shares_.resize(chunks.count());
        alphas_.resize(near_.rows.size());
        is_curved_.resize(near_.rows.size());
        problem_.with_view([&](const auto& problem) {
            chunks.for_each(monitor_.team(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
                differentiate_part(problem, begin, end, shares_[chunk], sums.of(chunk));
            });
        });
        sums.add_to(gradient_);
        for (const Share& share : shares_) {
            losses += share.losses;
            smooth_losses += share.smooth_losses;
            alphas += share.alphas;
            terms += share.terms;
            sizes += share.sizes;
            curved_.insert(curved_.end(), share.curved.begin(), share.curved.end());
        }
        const Regulariser regulariser = problem_.regulariser();
        const double value = regulariser.value(w), conjugate = regulariser.conjugate(gradient_);
        for (std::size_t j = 0; j < gradient_.size(); ++j) {
            gradient_[j] = w[j] - gradient_[j];
        }
        bool feasible = true;
        if (problem_.bias.free) {
            gradient_.back() += regulariser.last_slope - w.back();
            feasible = std::abs(gradient_.back()) <= rounding * std::abs(problem_.bias.value) * sizes;
            gradient_.back() = feasible ? 0.0 : gradient_.back();
        }
        Values now{value + losses, state_.bounds.dual(), infinity};
        if (sampling_) {
            return now;
        }
        // Beside a plain pass: slacks that were moved count by the slopes of the losses, and sums of many terms.
        constexpr double epsilon = std::numeric_limits<double>::epsilon();
        const double moved = (near_.drift() * near_.longest() + near_.moves() * near_.farthest_target()) *
                             (smoothing_ ? near_.all_C() : sizes);
        const std::size_t blocks = near_.rows.size() / chunks.count() / block;
        // The terms of a sum; those of far rows were added up chunk by chunk as they came.
        const std::size_t far = near_.far_C() > 0.0 ? problem_.size() / near_.collected_chunks() : 0;
        const double summed = static_cast<double>(block + blocks + chunks.count() + far);
        state_.bounds.offer_weights(now.primal, w, epsilon * (4.0 * moved + summed * std::abs(losses)));
        if (feasible) {
            now.dual = alphas - (smoothing_ ? 0.0 : terms) - conjugate;
            now.smooth_gap = (value + smooth_losses) - (alphas - terms - conjugate);
            state_.offer_variables(now.dual, problem_,
                                   epsilon * summed * (sizes * (near_.farthest_target() + smooth_.epsilon) + terms),
                                   monitor_.team());
        }
        return now;
    }

    // What a chunk of the near rows adds.
    struct alignas(apart) Share {
        double losses, smooth_losses, alphas, terms, sizes;
        std::vector<RowIndex> curved;
    };

    template <class Problem>
    void differentiate_part(const Problem& problem, std::size_t begin, std::size_t end, Share& share,
                            double* gradient) {
        share.curved.clear();
        share = {0.0, 0.0, 0.0, 0.0, 0.0, std::move(share.curved)};
        // By blocks, whose sums have few terms to round.
        for (std::size_t first = begin; first < end; first += block) {
            const std::size_t past = std::min(first + block, end);
            const SlopeSums sums = find_slopes(smooth_.shape(), near_.slack.data() + first, near_.C.data() + first,
                                               past - first, alphas_.data() + first, is_curved_.data() + first);
            share.losses += smoothing_ ? sums.kinked : sums.losses;
            share.smooth_losses += sums.losses;
            share.terms += sums.terms;
            differentiate_block(problem, first, past, share, gradient);
        }
    }

    template <class Problem>
    void differentiate_block(const Problem& problem, std::size_t first, std::size_t past, Share& share,
                             double* gradient) {
        double alphas = 0.0, sizes = 0.0;
        for (std::size_t k = first; k < past; ++k) {
            const RowIndex i = near_.rows[k];
            const double alpha = alphas_[k];
            Variable& v = problem.variables[i];
            v.alpha = alpha;
            if (is_curved_[k] != 0) {
                share.curved.push_back(i);
            }
            if (alpha != 0.0) {
                alphas += smooth_.linear(alpha, v.target);
                sizes += std::abs(alpha);
                problem.add_row(i, alpha * v.sign(), gradient);
            }
        }
        share.alphas += alphas;
        share.sizes += sizes;
    }

    // The next width, and a first step for it. While the same rows are curved, w depends linearly on the width and
    // their alphas stay; so the step is Newton's with the rows curved so far, whose slacks then shrink with the width.
    // With the few that are curved at the new width and the old slacks, the step would be far too long.
    void narrow(std::vector<double>& w) {
        const std::vector<RowIndex> curved = curved_;
        const Chunks chunks(curved.size(), average_work(curved.size()), gradient_.size());
        ChunkSums sums(chunks, gradient_.size());
        problem_.with_view([&](const auto& problem) {
            chunks.for_each(monitor_.team(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
                for (std::size_t k = begin; k < end; ++k) {
                    const Variable& v = problem.variables[curved[k]];
                    problem.add_row(curved[k], (1.0 - 1.0 / narrowing) * v.alpha * v.sign(), sums.of(chunk));
                }
            });
        });
        sums.add_to(gradient_);
        smooth_.diagonal_times_C *= narrowing;
        find_direction(curved);
        if (monitor_.ended()) {
            return;
        }
        if (!sampling_) {
            near_.collect(w, smooth_, reach * length());
        }
        differentiate(w);
        if (!(dot(gradient_, direction_) < 0.0)) {
            find_direction(curved_);
        }
        move(w);
    }

    void move(std::vector<double>& w) {
        step(w);
        find_bias(w);
        monitor_.poll(problem_.rows.stored());
    }

    // The best bias for the weights, if it is free: its alphas fulfil sum_i sign_i a_i = 0 and so have a dual value.
    // But where no row is curved there, as when the weights separate the classes, it is not taken: a step would know
    // nothing of where rows become curved again, and the next best bias undo most of it.
    void find_bias(std::vector<double>& w) {
        if (!problem_.bias.free) {
            return;
        }
        for (int trial = 0;; ++trial) {
            bias_terms_.clear();
            for (std::size_t k = 0; k < near_.rows.size(); ++k) {
                const double sign = problem_.variables[near_.rows[k]].sign();
                bias_terms_.push_back({sign * near_.slack[k], near_.C[k], sign});
            }
            const double far = -smooth_.upper_per_C * near_.far_sum().back() / problem_.bias.value;
            const double others = problem_.bias.slope + (near_.far_C() > 0.0 ? far : 0.0);
            const double t = best_curved_bias(smooth_, bias_terms_, 0.0, others);
            const bool held = std::any_of(bias_terms_.begin(), bias_terms_.end(), [&](const BiasTerm& term) {
                const double z = term.sign * (term.position - t);
                const double free = smooth_.outside(z) * smooth_.inverse_diagonal(term.C);
                return free != 0.0 && free > smooth_.lower(term.C) && free < smooth_.upper(term.C);
            });
            if (!held) {
                return;
            }
            w.back() += t / problem_.bias.value;
            if (near_.covers(near_.distance(w))) {
                for (std::size_t k = 0; k < near_.rows.size(); ++k) {
                    near_.slack[k] -= t * bias_terms_[k].sign;
                }
                return;
            }
            near_.collect(w, smooth_, trial < most_bias_trials ? reach * std::abs(t / problem_.bias.value) : infinity);
        }
    }

    void step(std::vector<double>& w) {
        if (!near_.covers(near_.distance(w) + length())) {
            near_.collect(w, smooth_, reach * length());
        } else if (!sampling_ && near_.radius() > worth_shrinking * reach * length()) {
            near_.shrink(w, smooth_, reach * length());
        }
        near_.find_slopes(direction_);
        const Regulariser regulariser = problem_.regulariser();
        const double far = near_.far_C() > 0.0 ? smooth_.upper_per_C * dot(near_.far_sum(), direction_) : 0.0;
        const double t = search_line(near_, smooth_, regulariser.slope(w, direction_) - far,
                                     regulariser.dot(direction_, direction_), dot(gradient_, direction_), 0.01);
        dense_axpy(t, direction_.data(), w.data(), w.size());
        if (near_.covers(near_.distance(w))) {
            near_.move(t, std::abs(t) * length() + std::sqrt(dot(w, w)));
        } else {
            near_.collect(w, smooth_, reach * length());
        }
    }

    static double dot(const std::vector<double>& a, const std::vector<double>& b) {
        return dense_dot(a.data(), b.data(), a.size());
    }

    double length() const { return std::sqrt(dot(direction_, direction_)); }

    void find_direction(const std::vector<RowIndex>& curved) {
        auto downhill = [this] {
            std::transform(gradient_.begin(), gradient_.end(), direction_.begin(), [](double g) { return -g; });
        };
        downhill();
        if (!hessian_) {
            solve_by_conjugate_gradients(problem_, smooth_, curved, cg_rounds_, monitor_, direction_);
            cg_rounds_ += more_cg_rounds;  // the later, the more accurate
            return;
        }
        hessian_->set_curved(curved);
        if (!hessian_->solve(smooth_.diagonal_times_C / weight_, direction_)) {
            hessian_->reset();
            hessian_->set_curved(curved);
            downhill();
            if (!hessian_->solve(smooth_.diagonal_times_C / weight_, direction_)) {
                downhill();
            }
        }
    }

    BinaryState& state_;
    BinaryProblem<Rows> problem_;
    const Limits& limits_;
    Monitor& monitor_;
    Loss smooth_;
    bool smoothing_;
    NearRows<Rows> near_;
    std::vector<RowIndex> curved_;
    std::vector<Share> shares_;
    HugeVector<double> alphas_;  // of the near rows, and whether they are curved
    HugeVector<std::uint8_t> is_curved_;
    HugeVector<double> kept_;  // the variables that belong to the slacks, while others are tried
    std::optional<DenseHessian<Rows>> hessian_;
    std::vector<double> gradient_;
    std::vector<double> direction_;
    std::vector<BiasTerm> bias_terms_;
    bool sampling_ = false;
    double weight_ = 1.0;  // of each row: another one while a sample stands for all
    std::size_t cg_rounds_ = first_cg_rounds;
    double pace_gap_ = infinity, pace_primal_ = infinity;
    std::int64_t pace_iteration_ = 0;
    double next_polish_ = infinity, next_end_ = infinity, next_sweep_ = infinity;
};

}  // namespace

Outcome newton(BinaryState& state, const Limits& limits, Monitor& monitor) {
    return state.visit([&]<class Rows>(const BinaryProblem<Rows>& problem) {
        return Newton<Rows>(state, problem, limits, monitor).run();
    });
}

}  // namespace maxmargin
