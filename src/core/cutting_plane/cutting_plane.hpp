// The cutting-plane method of Joachims (2006, Algorithms 1 and 2) for min 1/2 |w|^2 + R(w) with a risk R that is convex
// and piecewise linear. A master problem over the cuts found so far gives a lower bound D of the optimum, and w with
// it; the risk is evaluated at w, and the cut that touches it there is added.
//
// As written this takes long detours. Accelerated, as in OCAS (Franc & Sonnenburg 2008), the best iterate is kept, w
// only shows the direction of a line search from it, and the cut is taken on the far side of the lowest point of that
// line, where it says most about the optimum. The objective of the best iterate never rises and D never falls.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cutting_plane/cut_pool.hpp"
#include "cutting_plane/methods.hpp"
#include "cutting_plane/risk.hpp"
#include "numeric/huge_array.hpp"
#include "rows/any_rows.hpp"
#include "run/bounds.hpp"
#include "run/chunks.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

// What is known of a solution before the start; all of it may be empty.
struct CutStart {
    std::span<const double> points;        // weights, the bias last, one point after the other: cuts are made there
    std::span<const double> coefficients;  // of a mixture of cuts, one per row
    double offset = 0.0;                   // of that mixture
};

// What a mixture of cuts stands for.
struct Unfolded {
    std::vector<double> coefficients;  // dual variables with their signs, one for each score of each row
    double sum = 0.0;                  // of the offsets: of the dual variables themselves
    std::vector<double> points;        // where the cuts in use touch the risk, one after the other
};

// Weights, the scores of all rows, and the cut that touches the risk there.
struct CutPoint {
    std::vector<double> weights;
    HugeVector<double> scores;
    HugeVector<double> coefficients;
    double offset = 0.0;
    double risk = 0.0;
    double square = 0.0;  // of the weights

    double objective() const { return 0.5 * square + risk; }
};

class CuttingPlane {
  public:
    CuttingPlane(const AnyRows& rows, double bias, Risk& risk, const CuttingOptions& options, const Limits& limits,
                 Monitor& monitor)
        : rows_(rows),
          bias_(bias),
          risk_(risk),
          width_(risk.width()),
          taking_part_(risk.rows()),
          options_(options),
          limits_(limits),
          monitor_(monitor),
          bounds_(infinity, {}, {}) {}

    // `deliver(primal, weights, unfolded)` takes the best weights and the best variables, and tells whether they are
    // within the tolerance when they are verified.
    template <class Deliver>
    Outcome run(const CutStart& known, const Deliver& deliver) {
        // Five slots, and what a first mixture unfolds to, are fresh memory: time that cannot be interrupted.
        const double fresh = 12.0 * static_cast<double>(taking_part_.size() * width_) * seconds_per_entry;
        if (monitor_.look(fresh)) {
            return {monitor_.exit(), 0};
        }
        start(known);
        double finish_at = limits_.tol;
        double nearest = infinity;
        int missed = 0, stalled = 0;
        double begin = monitor_.seconds(), iteration = 0.0;
        for (std::int64_t cuts = 1;; ++cuts) {
            const bool in_time = next_master_point();
            if (!in_time && cuts == 1 && known.points.empty() && known.coefficients.empty()) {
                return {monitor_.exit(), cuts};  // nothing is better than zero yet
            }
            const bool solved =
                in_time && options_.epsilon > 0.0 && master_->objective() - dual_ <= options_.epsilon * risk_.weight();
            if (delivery_due()) {
                const Monitor::Checking checking(monitor_);
                deliver(bounds_.primal(), bounds_.weights(), unfold(bounds_.variables()));
                delivered_ = monitor_.seconds();
            }
            monitor_.report(cuts, static_cast<double>(cuts), pool_.in_use(), bounds_);
            const double left = bounds_.primal() - bounds_.dual();
            stalled = left < nearest ? 0 : stalled + 1;
            nearest = std::min(nearest, left);
            const bool strange =
                strange_ || stalled >= longest_stall || (in_time && !std::isfinite(master_->objective()));
            const bool last =
                monitor_.look(unfolding_seconds() + iteration) || cuts >= limits_.max_iter || solved || strange;
            if (last || bounds_.gap() <= finish_at) {
                const Monitor::Checking checking(monitor_);
                if (deliver(bounds_.primal(), bounds_.weights(), unfold(bounds_.variables()))) {
                    return {Exit::converged, cuts};
                }
                if (last) {
                    const Exit limit = solved ? Exit::epsilon : strange ? Exit::budget : Exit::max_iter;
                    return {monitor_.ended() ? monitor_.exit() : limit, cuts};
                }
                finish_at *= 0.5;  // rounding has put the tolerance out of reach once: ask for more
                if (++missed >= most_missed) {
                    return {Exit::budget, cuts};
                }
            }
            if (options_.acceleration) {
                add_cuts();
            } else {
                add_cut(*master_);
            }
            iteration = monitor_.seconds() - std::exchange(begin, monitor_.seconds());
        }
    }

  private:
    // Cuts that the master problem has not used for so many iterations are dropped.
    static constexpr int longest_idle = 50;
    // Line searches end when the slope is this share of what it was at the best iterate, or when what is left to gain
    // is this share of the gap.
    static constexpr double flat_slope = 0.1;
    static constexpr double small_gain = 0.003;
    static constexpr std::size_t few_features = 256;
    static constexpr int longest_patience = 16;
    // Every cut raises the dual value, but for rounding.
    static constexpr int longest_stall = 100;
    // So often may bounds that seemed close enough turn out not to be.
    static constexpr int most_missed = 50;
    static constexpr int most_trials = 20;
    static constexpr std::size_t few_to_keep = std::size_t{1} << 16;  // rows: at most half a megabyte per cut
    static constexpr double longest_stretch = 4.0;
    static constexpr double verifying = 10.0;  // in evaluations of the risk
    static constexpr double seconds_per_entry = 5e-9;
    static constexpr std::size_t work_of_score = 2;                          // likewise: of loops over scores
    static constexpr std::size_t work_between_looks = std::size_t{1} << 19;  // stored values

    // Whoever asked for reports by time may keep the state, which knows only what was delivered.
    bool delivery_due() const {
        const double interval = monitor_.seconds_between_reports();
        return interval > 0.0 && monitor_.wants_weights() && monitor_.seconds() >= delivered_ + interval;
    }

    static double dot(const std::vector<double>& a, const std::vector<double>& b) {
        return dense_dot(a.data(), b.data(), a.size());
    }

    // Cuts at zero, at the points that are known, and the known mixture as one more.
    void start(const CutStart& known) {
        const std::size_t size = (rows_.features() + 1) * width_;
        for (CutPoint& slot : slots_) {
            slot.weights.assign(size, 0.0);
            slot.scores.assign(taking_part_.size() * width_, 0.0);
            slot.coefficients.assign(taking_part_.size() * width_, 0.0);
        }
        const double before = monitor_.seconds();
        touch(*best_);
        bounds_.offer_weights(best_->objective(), best_->weights);
        add_cut(*best_);
        seconds_per_touch_ = monitor_.seconds() - before;
        for (std::size_t k = 0; k + size <= known.points.size(); k += size) {
            CutPoint& point = slots_[2];
            std::copy_n(known.points.data() + k, size, point.weights.data());
            if (!find_scores(point.weights, point.scores)) {
                return;
            }
            touch(point);
            if (!std::isfinite(point.objective())) {
                continue;
            }
            add_cut(point);
            bounds_.offer_weights(point.objective(), point.weights);
            if (point.objective() < best_->objective()) {
                std::swap(point, *best_);
            }
        }
        if (!known.coefficients.empty()) {
            HugeVector<double> coefficients(taking_part_.size() * width_);
            for (std::size_t p = 0; p < taking_part_.size(); ++p) {
                std::copy_n(known.coefficients.data() + taking_part_[p] * width_, width_,
                            coefficients.data() + p * width_);
            }
            std::vector<double> normal;
            combine_rows(coefficients, normal);
            pool_.add({std::move(normal), known.offset, {}, {coefficients.begin(), coefficients.end()}});
        }
    }

    // Of the rows, each of which makes a sum of so many numbers.
    Chunks chunks(std::size_t width) const { return {taking_part_.size(), rows_.stored(), width}; }

    // Of the scores, for loops that read some of their arrays.
    Chunks score_chunks() const {
        const std::size_t count = taking_part_.size() * width_;
        return {count, work_of_score * count};
    }
    template <class Body>
    double add_up(const Body& body) const {
        return score_chunks().template sum<double>(monitor_.team(), body);
    }

    // The weights of the constant column are the last ones.
    bool find_scores(const std::vector<double>& weights, std::span<double> scores) {
        const double* intercepts = weights.data() + rows_.features() * width_;
        std::size_t work = 0;
        const UserRows& rows = rows_.rows();
        if (width_ == 1 && monitor_.team() != nullptr) {
            rows.with_view([&](const auto& view) {
                chunks(1).for_each(monitor_.team(), [&](std::size_t, std::size_t begin, std::size_t end) {
                    for (std::size_t p = begin; p < end; ++p) {
                        scores[p] = bias_ * *intercepts;
                        scores[p] += view.dot(taking_part_[p], weights.data());
                    }
                });
            });
            return unlimited_ || !monitor_.look(unfolding_seconds());
        }
        for (std::size_t p = 0; p < taking_part_.size(); ++p) {
            const std::size_t i = taking_part_[p];
            double* own = scores.data() + p * width_;
            for (std::size_t m = 0; m < width_; ++m) {
                own[m] = bias_ * intercepts[m];
            }
            if (width_ == 1) {
                *own += rows.dot(i, weights.data());
            } else {
                rows.class_scores(i, weights.data(), width_, own);
            }
            work += rows.stored(i) * width_ + 1;
            if (work >= work_between_looks && !unlimited_) {
                work = 0;
                if (monitor_.look(unfolding_seconds())) {
                    return false;
                }
            }
        }
        return true;
    }

    // sum_i coefficients_i x_i
    void combine_rows(std::span<const double> coefficients, std::vector<double>& sum) {
        sum.assign((rows_.features() + 1) * width_, 0.0);
        double* intercepts = sum.data() + rows_.features() * width_;
        const UserRows& rows = rows_.rows();
        if (width_ == 1) {
            const Chunks parts = chunks(sum.size());
            ChunkSums sums(parts, sum.size());
            rows.with_view([&](const auto& view) {
                parts.for_each(monitor_.team(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
                    double* own = sums.of(chunk);
                    for (std::size_t p = begin; p < end; ++p) {
                        if (coefficients[p] != 0.0) {
                            view.axpy(taking_part_[p], coefficients[p], own);
                            own[view.features()] += bias_ * coefficients[p];
                        }
                    }
                });
            });
            sums.add_to(sum);
            monitor_.poll(rows_.stored());
            return;
        }
        std::vector<std::uint32_t> which;
        std::vector<double> values;
        for (std::size_t p = 0; p < taking_part_.size(); ++p) {
            const double* own = coefficients.data() + p * width_;
            const std::size_t i = taking_part_[p];
            monitor_.poll(rows.stored(i) + 1);
            which.clear();
            values.clear();
            for (std::uint32_t m = 0; m < width_; ++m) {
                if (own[m] != 0.0) {
                    which.push_back(m);
                    values.push_back(own[m]);
                    intercepts[m] += bias_ * own[m];
                }
            }
            rows.add_to_classes(i, which, values.data(), sum.data(), width_);
        }
    }

    void touch(CutPoint& point) {
        point.offset = risk_.touch(point.scores.data(), point.coefficients.data());
        point.risk = point.offset - add_up([&](std::size_t begin, std::size_t end) {
                         return dense_dot(point.coefficients.data() + begin, point.scores.data() + begin, end - begin);
                     });
        point.square = dot(point.weights, point.weights);
        monitor_.poll(8 * taking_part_.size() * width_);
    }

    CutPointer add_cut(const CutPoint& point) {
        std::vector<double> normal;
        combine_rows(point.coefficients, normal);
        const std::span<const double> kept(point.coefficients.data(),
                                           point.coefficients.size() <= few_to_keep ? point.coefficients.size() : 0);
        CutPointer cut =
            pool_.add({std::move(normal), point.offset, point.weights, std::vector<double>(kept.begin(), kept.end())});
        strange_ = strange_ || !cut;
        return cut;
    }

    // The solution of the master problem, its value D, and the risk there. False when time has run out.
    bool next_master_point() {
        dual_ = pool_.solve(master_->weights);
        bounds_.offer_variables(dual_, [this](Mixture& best) { pool_.copy_mixture(best); });
        const double before = monitor_.seconds();
        const bool in_time = find_scores(master_->weights, master_->scores);
        if (in_time) {
            touch(*master_);
            seconds_per_touch_ = monitor_.seconds() - before;
            bounds_.offer_weights(master_->objective(), master_->weights);
        }
        if (!options_.keep_cuts) {
            pool_.drop_idle(longest_idle);
        }
        return in_time;
    }

    // The cut beyond the lowest point of the line; and as long as such cuts prove useful, the one at the master
    // problem's own point too. With many features they mostly do, with few features mostly not.
    void add_cuts() {
        if (master_cut_) {
            const bool was_useful = pool_.is_in_use(master_cut_);
            patience_ = was_useful ? std::max(patience_ / 2, 1) : std::min(2 * patience_, longest_patience);
            waiting_ = was_useful ? 0 : patience_;
            master_cut_.reset();
        }
        const CutPoint* master = master_;
        const bool both = waiting_ == 0 && rows_.features() > few_features;
        if (both) {
            master_cut_ = add_cut(*master_);
        } else {
            waiting_ = std::max(waiting_ - 1, 0);
        }
        const CutPoint& far = search_line();
        bounds_.offer_weights(best_->objective(), best_->weights);
        if (&far != master || !both) {
            add_cut(far);
        }
    }

    // A point on the line from the best iterate through that of the master problem, and the risk along it.
    struct Trial {
        double t;
        double slope;  // of the risk
        CutPoint* point;

        double tangent(double at) const { return point->risk + slope * (at - t); }
    };

    // The lowest point of the objective on the line becomes the best iterate. Returns a point just beyond it, whose cut
    // shows that the objective rises there.
    //
    // Two tangents of the risk, left and right of the lowest point, and the quadratic term, which is known, bound the
    // objective from below. The lowest point of that bound is one good trial, right where a single kink is left between
    // the two; the other, for a risk of so many kinks that it looks smooth, is where the slope would be zero if it were
    // linear in between. They take turns.
    const CutPoint& search_line() {
        const double wd = dot(best_->weights, master_->weights) - best_->square;
        const double dd = master_->square - 2.0 * wd - best_->square;
        auto quadratic = [&](double t) { return 0.5 * best_->square + t * wd + 0.5 * t * t * dd; };
        auto slope = [&](const Trial& trial) { return wd + trial.t * dd + trial.slope; };
        Trial left{0.0, slope_along(*best_), best_}, right{infinity, 0.0, nullptr}, trial{1.0, 0.0, master_};
        const double flat = flat_slope * std::abs(slope(left));
        const double enough = small_gain * (best_->objective() - dual_);
        double lowest = best_->objective();
        for (int count = 0; count < most_trials && !monitor_.ended(); ++count) {
            if (trial.point != master_) {
                mix(trial.t, *trial.point);
                touch(*trial.point);
            }
            trial.slope = slope_along(*trial.point);
            lowest = std::min(lowest, trial.point->objective());
            (slope(trial) < 0.0 ? left : right) = trial;
            // Where the bound is lowest: at the lowest point of one of its two parts, or where they cross.
            const double left_lowest = -(wd + left.slope) / dd;
            double t = std::min(left_lowest, longest_stretch * left.t), bound = left.tangent(t);
            if (right.point) {
                const double right_lowest = -(wd + right.slope) / dd;
                const double crossing = (left.tangent(0.0) - right.tangent(0.0)) / (right.slope - left.slope);
                t = left_lowest <= crossing ? left_lowest : std::max(right_lowest, crossing);
                bound = std::max(left.tangent(t), right.tangent(t));
            }
            const bool inside = t > left.t && t < right.t;
            if (!inside || quadratic(t) + bound > lowest - enough || (right.point && std::abs(slope(trial)) <= flat)) {
                break;
            }
            if (right.point && count % 2 == 0) {
                t = left.t - slope(left) * (right.t - left.t) / (slope(right) - slope(left));
            }
            trial = {t, 0.0, free_slot(left.point, right.point)};
        }
        CutPoint* far = right.point ? right.point : left.point;
        CutPoint* low = !right.point || left.point->objective() <= right.point->objective() ? left.point : right.point;
        if (low != best_) {
            if (low == master_) {
                std::swap(best_, master_);
            } else {
                best_ = low;
            }
        }
        return *far;
    }

    // Of the risk along the line, at one of its points.
    double slope_along(const CutPoint& point) const {
        return -add_up([&](std::size_t begin, std::size_t end) {
            double sum = 0.0;
            for (std::size_t i = begin; i < end; ++i) {
                sum += point.coefficients[i] * (master_->scores[i] - best_->scores[i]);
            }
            return sum;
        });
    }

    void mix(double t, CutPoint& point) const {
        for (std::size_t j = 0; j < point.weights.size(); ++j) {
            point.weights[j] = best_->weights[j] + t * (master_->weights[j] - best_->weights[j]);
        }
        score_chunks().for_each(monitor_.team(), [&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                point.scores[i] = best_->scores[i] + t * (master_->scores[i] - best_->scores[i]);
            }
        });
    }

    CutPoint* free_slot(const CutPoint* left, const CutPoint* right) {
        return std::find_if(slots_.begin(), slots_.end(), [&](const CutPoint& slot) {
            return &slot != best_ && &slot != master_ && &slot != left && &slot != right;
        });
    }

    // What comes after the last cut: its mixture unfolded, and both bounds verified.
    double unfolding_seconds() const {
        const bool kept = taking_part_.size() * width_ <= few_to_keep;
        return (kept ? verifying : verifying + static_cast<double>(bounds_.variables().size())) * seconds_per_touch_;
    }

    // The dual variables of a mixture of cuts. With many rows the cuts' own coefficients are not kept, and found again
    // by touching the risk where they touch it; this goes on past all limits.
    Unfolded unfold(const Mixture& parts) {
        CutPoint& point = *free_slot(nullptr, nullptr);
        HugeVector<double> coefficients(taking_part_.size() * width_, 0.0);
        Unfolded result;
        unlimited_ = true;
        for (const auto& [share, cut] : parts) {
            if (cut->coefficients.empty()) {
                point.weights = cut->point;
                find_scores(point.weights, point.scores);
                touch(point);
            }
            const double* own = cut->coefficients.empty() ? point.coefficients.data() : cut->coefficients.data();
            result.sum += share * (cut->coefficients.empty() ? point.offset : cut->offset);
            score_chunks().for_each(monitor_.team(), [&](std::size_t, std::size_t begin, std::size_t end) {
                dense_axpy(share, own + begin, coefficients.data() + begin, end - begin);
            });
            result.points.insert(result.points.end(), cut->point.begin(), cut->point.end());
        }
        unlimited_ = false;
        result.coefficients.assign(rows_.size() * width_, 0.0);
        for (std::size_t p = 0; p < taking_part_.size(); ++p) {
            std::copy_n(coefficients.data() + p * width_, width_,
                        result.coefficients.data() + taking_part_[p] * width_);
        }
        return result;
    }

    const AnyRows& rows_;
    double bias_;
    Risk& risk_;
    std::size_t width_;  // scores per row
    const std::vector<RowIndex>& taking_part_;
    CuttingOptions options_;
    Limits limits_;
    Monitor& monitor_;
    CutPool pool_;
    Bounds<Mixture> bounds_;
    std::array<CutPoint, 5> slots_;
    CutPoint* best_ = &slots_[0];
    CutPoint* master_ = &slots_[1];
    double dual_ = 0.0;
    CutPointer master_cut_;           // the last one made at the master problem's point
    int patience_ = 1, waiting_ = 0;  // iterations until the next one
    double seconds_per_touch_ = 0.0;
    double delivered_ = 0.0;  // when
    bool strange_ = false;    // a cut was not of finite numbers
    bool unlimited_ = false;
};

}  // namespace maxmargin
