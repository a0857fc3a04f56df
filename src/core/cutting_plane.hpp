// The cutting-plane method of Joachims (2006, Algorithms 1 and 2) for min 1/2 |w|^2 + R(w) with a risk R that is convex
// and piecewise linear. A master problem over the cuts found so far gives a lower bound D of the optimum, and w with
// it; the risk is evaluated at w, and the cut that touches it there is added.
//
// As written this takes long detours. Accelerated, as in OCAS (Franc & Sonnenburg 2008), the best iterate is kept, w
// only shows the direction of a line search from it, and the cut is taken on the far side of the lowest point of that
// line, where it says most about the optimum. The objective of the best iterate never rises and D never falls.
//
// What is returned is a pair, weights and dual variables that belong together: shares u of cuts mean both, since w =
// sum_k u_k a_k is a sum over rows. Its gap is what `tol` asks for.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "any_rows.hpp"
#include "certificate.hpp"
#include "master_problem.hpp"
#include "monitor.hpp"
#include "risk.hpp"
#include "solvers.hpp"

namespace maxmargin {

// Weights, the scores of all rows, and the cut that touches the risk there.
struct CutPoint {
    std::vector<double> weights;
    std::vector<double> scores;
    std::vector<double> coefficients;
    double offset = 0.0;
    double risk = 0.0;
    double square = 0.0;  // of the weights

    double objective() const { return 0.5 * square + risk; }
};

class CuttingPlane {
  public:
    CuttingPlane(const AnyRows& rows, double bias, Risk& risk, Monitor& monitor, const CuttingOptions& options)
        : rows_(rows),
          bias_(bias),
          risk_(risk),
          width_(risk.width()),
          taking_part_(risk.rows()),
          monitor_(monitor),
          options_(options) {}

    Outcome run(const CutStart& known, CutResult& result) {
        start(known);
        Outcome outcome;
        Pair pair;
        double finish_at = options_.tol, near_at = 0.5 * options_.tol;
        for (outcome.epochs = 1;; ++outcome.epochs) {
            const bool in_time = next_master_point(pair);
            const CutPoint& shown =
                in_time && (!options_.accelerated || master_->objective() < best_->objective()) ? *master_ : *best_;
            const Certificate proved{shown.objective(), dual_};
            if (options_.accelerated && pair.certificate.gap() > options_.tol && proved.gap() <= near_at) {
                look_near(shown, options_.tol / std::max(proved.gap(), 1e-16), pair);
                near_at = 0.7 * proved.gap();
            }
            monitor_.report({outcome.epochs, monitor_.seconds(), proved.primal, dual_, proved.gap(),
                             static_cast<std::int64_t>(cuts_in_use()), shown.weights});
            const bool last = monitor_.look() || outcome.epochs >= options_.max_iter;
            if (last || pair.certificate.gap() <= finish_at) {
                const double before = monitor_.seconds();
                unlimited_ = true;
                // When the fit has to end here, the pair with the lowest objective is of more use than that with the
                // smallest gap.
                for (double strength = 10.0; last && options_.accelerated && strength <= 1e5; strength *= 100.0) {
                    look_near(shown, strength, pair);
                }
                pair.certificate = unfold(pair.parts, result);
                if (last && !(pair.certificate.primal <= objective_at_zero_)) {
                    // So large a C that rounding leaves nothing of a sum of cuts; no weights at all are better.
                    pair.certificate = unfold({}, result);
                }
                unlimited_ = false;
                outcome.certificate = pair.certificate;
                outcome.check_seconds += monitor_.seconds() - before;
                const bool converged = pair.certificate.gap() <= options_.tol;
                if (converged || last) {
                    outcome.exit = converged ? Exit::converged : monitor_.ended() ? monitor_.exit() : Exit::max_iter;
                    monitor_.report({outcome.epochs, monitor_.seconds(), pair.certificate.primal, pair.certificate.dual,
                                     pair.certificate.gap(), static_cast<std::int64_t>(cuts_in_use()), result.weights});
                    return outcome;
                }
                finish_at *= 0.5;  // rounding has put the tolerance out of reach once: ask for more
            }
            if (options_.accelerated) {
                add_cuts();
            } else {
                add_cut(*master_);
            }
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
    static constexpr int most_trials = 20;
    static constexpr std::size_t few_to_keep = std::size_t{1} << 16;  // rows: at most half a megabyte per cut
    static constexpr double longest_stretch = 4.0;

    struct Cut {
        std::vector<double> normal;        // a_k
        double offset;                     // b_k
        std::vector<double> point;         // the weights where it touches the risk
        std::vector<double> coefficients;  // may be empty: found again at the point
    };

    struct LiveCut {
        std::shared_ptr<const Cut> cut;
        int idle;
    };

    // Shares of cuts, and the objectives of the weights and the dual variables that they add up to.
    using Mixture = std::vector<std::pair<double, std::shared_ptr<const Cut>>>;
    struct Pair {
        Mixture parts;
        Certificate certificate;  // infinitely far apart
    };

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
        touch(*best_);
        objective_at_zero_ = best_->objective();
        add_cut(*best_);
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
            if (point.objective() < best_->objective()) {
                std::swap(point, *best_);
            }
        }
        if (!known.coefficients.empty()) {
            std::vector<double> coefficients(taking_part_.size() * width_);
            for (std::size_t p = 0; p < taking_part_.size(); ++p) {
                std::copy_n(known.coefficients.data() + taking_part_[p] * width_, width_,
                            coefficients.data() + p * width_);
            }
            std::vector<double> normal;
            combine_rows(coefficients, normal);
            add({std::move(normal), known.offset, {}, std::move(coefficients)});
        }
    }

    // The weights of the constant column are the last ones.
    bool find_scores(const std::vector<double>& weights, std::vector<double>& scores) {
        const double* intercepts = weights.data() + rows_.features() * width_;
        return std::visit(
            [&](const auto& rows) {
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
                    if (monitor_.poll(rows.stored(i) * width_ + 1) && !unlimited_) {
                        return false;
                    }
                }
                return true;
            },
            rows_.variant());
    }

    // sum_i coefficients_i x_i
    void combine_rows(const std::vector<double>& coefficients, std::vector<double>& sum) {
        sum.assign((rows_.features() + 1) * width_, 0.0);
        double* intercepts = sum.data() + rows_.features() * width_;
        std::vector<std::uint32_t> which;
        std::vector<double> values;
        std::visit(
            [&](const auto& rows) {
                for (std::size_t p = 0; p < taking_part_.size(); ++p) {
                    const double* own = coefficients.data() + p * width_;
                    const std::size_t i = taking_part_[p];
                    monitor_.poll(rows.stored(i) + 1);
                    if (width_ == 1) {
                        if (*own != 0.0) {
                            rows.axpy(i, *own, sum.data());
                            *intercepts += bias_ * *own;
                        }
                        continue;
                    }
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
            },
            rows_.variant());
    }

    void touch(CutPoint& point) {
        point.offset = risk_.touch(point.scores.data(), point.coefficients.data());
        point.risk = point.offset - dot(point.coefficients, point.scores);
        point.square = dot(point.weights, point.weights);
        monitor_.poll(8 * taking_part_.size() * width_);
    }

    void add_cut(const CutPoint& point) {
        std::vector<double> normal;
        combine_rows(point.coefficients, normal);
        const bool keep = point.coefficients.size() <= few_to_keep;
        add({std::move(normal), point.offset, point.weights, keep ? point.coefficients : std::vector<double>()});
    }

    void add(Cut cut) {
        std::vector<double> products{0.0};
        for (const LiveCut& other : cuts_) {
            products.push_back(dot(other.cut->normal, cut.normal));
        }
        products.push_back(dot(cut.normal, cut.normal));
        master_problem_.add(std::move(products), cut.offset);
        cuts_.push_back({std::make_shared<const Cut>(std::move(cut)), 0});
    }

    // The solution of the master problem, its value D, and the risk there. False when time has run out.
    bool next_master_point(Pair& pair) {
        master_problem_.solve();
        const bool in_time = consider(master_problem_, *master_, pair, &dual_);
        drop_idle_cuts();
        return in_time;
    }

    // The weights of a master problem's shares, the risk there, and, if it is better than `pair`, their pair. False
    // when time has run out.
    bool consider(const MasterProblem& problem, CutPoint& point, Pair& pair, double* dual) {
        std::vector<double>& w = point.weights;
        std::fill(w.begin(), w.end(), 0.0);
        double value = 0.0;
        for (std::size_t k = 0; k < cuts_.size(); ++k) {
            const double share = problem.share(k + 1);
            if (share > 0.0) {
                dense_axpy(share, cuts_[k].cut->normal.data(), w.data(), w.size());
                value += share * cuts_[k].cut->offset;
            }
        }
        value -= 0.5 * dot(w, w);
        if (dual) {
            *dual = value;
        }
        const bool in_time = find_scores(w, point.scores);
        if (in_time) {
            touch(point);
        }
        const Certificate certificate{in_time ? point.objective() : infinity, value};
        const bool better = unlimited_ ? certificate.primal < pair.certificate.primal
                                       : in_time && certificate.gap() < pair.certificate.gap();
        if (pair.parts.empty() || better) {
            pair.certificate = certificate;
            pair.parts.clear();
            for (std::size_t k = 0; k < cuts_.size(); ++k) {
                if (problem.share(k + 1) > 0.0) {
                    pair.parts.emplace_back(problem.share(k + 1), cuts_[k].cut);
                }
            }
        }
        return in_time;
    }

    // The weights of the master problem can be much worse than the best iterate. Shares that are nearly optimal for it
    // but whose weights are pulled towards the best iterate make a better pair.
    void look_near(const CutPoint& best, double strength, Pair& pair) {
        std::vector<double> pulls{0.0};
        for (const LiveCut& live : cuts_) {
            pulls.push_back(dot(live.cut->normal, best.weights));
        }
        MasterProblem pulled = master_problem_.pulled(pulls, strength);
        pulled.solve();
        consider(pulled, *free_slot(nullptr, nullptr), pair, nullptr);
    }

    // The cut beyond the lowest point of the line; and as long as such cuts prove useful, the one at the master
    // problem's own point too. With many features they mostly do, with few features mostly not.
    void add_cuts() {
        const bool was_useful = master_cut_ && std::any_of(cuts_.begin(), cuts_.end(), [this](const LiveCut& live) {
                                    return live.cut == master_cut_ && live.idle == 0;
                                });
        if (master_cut_) {
            patience_ = was_useful ? std::max(patience_ / 2, 1) : std::min(2 * patience_, longest_patience);
            waiting_ = was_useful ? 0 : patience_;
            master_cut_.reset();
        }
        const CutPoint* master = master_;
        const bool both = waiting_ == 0 && rows_.features() > few_features;
        if (both) {
            add_cut(*master_);
            master_cut_ = cuts_.back().cut;
        } else {
            waiting_ = std::max(waiting_ - 1, 0);
        }
        const CutPoint& far = search_line();
        if (&far != master || !both) {
            add_cut(far);
        }
    }

    void drop_idle_cuts() {
        std::vector<bool> kept(cuts_.size() + 1, true);
        for (std::size_t k = 0; k < cuts_.size(); ++k) {
            cuts_[k].idle = master_problem_.share(k + 1) > 0.0 ? 0 : cuts_[k].idle + 1;
            kept[k + 1] = cuts_[k].idle <= longest_idle;
        }
        if (std::find(kept.begin(), kept.end(), false) != kept.end()) {
            master_problem_.keep(kept);
            std::size_t k = 0;
            std::erase_if(cuts_, [&](const LiveCut&) { return !kept[++k]; });
        }
    }

    std::size_t cuts_in_use() const {
        return static_cast<std::size_t>(
            std::count_if(cuts_.begin(), cuts_.end(), [](const LiveCut& live) { return live.idle == 0; }));
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
        double sum = 0.0;
        for (std::size_t i = 0; i < point.scores.size(); ++i) {
            sum -= point.coefficients[i] * (master_->scores[i] - best_->scores[i]);
        }
        return sum;
    }

    void mix(double t, CutPoint& point) const {
        auto mixed = [t](const std::vector<double>& from, const std::vector<double>& to, std::vector<double>& result) {
            for (std::size_t j = 0; j < result.size(); ++j) {
                result[j] = from[j] + t * (to[j] - from[j]);
            }
        };
        mixed(best_->weights, master_->weights, point.weights);
        mixed(best_->scores, master_->scores, point.scores);
    }

    CutPoint* free_slot(const CutPoint* left, const CutPoint* right) {
        return std::find_if(slots_.begin(), slots_.end(), [&](const CutPoint& slot) {
            return &slot != best_ && &slot != master_ && &slot != left && &slot != right;
        });
    }

    // The dual variables of a mixture of cuts, the weights that belong to them, and their exact certificate. With many
    // rows the cuts' own coefficients are not kept, and found again by touching the risk where they touch it. This goes
    // on past all limits.
    Certificate unfold(const Mixture& parts, CutResult& result) {
        CutPoint& point = *free_slot(nullptr, nullptr);
        std::vector<double> coefficients(taking_part_.size() * width_, 0.0);
        result.points.clear();
        double mass = 0.0;
        for (const auto& [share, cut] : parts) {
            if (cut->coefficients.empty()) {
                point.weights = cut->point;
                find_scores(point.weights, point.scores);
                touch(point);
            }
            const auto& own = cut->coefficients.empty() ? point.coefficients : cut->coefficients;
            mass += share * (cut->coefficients.empty() ? point.offset : cut->offset);
            dense_axpy(share, own.data(), coefficients.data(), coefficients.size());
            result.points.insert(result.points.end(), cut->point.begin(), cut->point.end());
        }
        combine_rows(coefficients, point.weights);
        find_scores(point.weights, point.scores);
        touch(point);
        result.weights = point.weights;
        result.coefficients.assign(rows_.size() * width_, 0.0);
        for (std::size_t p = 0; p < taking_part_.size(); ++p) {
            std::copy_n(coefficients.data() + p * width_, width_,
                        result.coefficients.data() + taking_part_[p] * width_);
        }
        return {point.objective(), mass - 0.5 * point.square};
    }

    const AnyRows& rows_;
    double bias_;
    Risk& risk_;
    std::size_t width_;  // scores per row
    const std::vector<RowIndex>& taking_part_;
    Monitor& monitor_;
    CuttingOptions options_;
    MasterProblem master_problem_;
    std::vector<LiveCut> cuts_;
    std::array<CutPoint, 5> slots_;
    CutPoint* best_ = &slots_[0];
    CutPoint* master_ = &slots_[1];
    double dual_ = 0.0;
    double objective_at_zero_ = 0.0;
    std::shared_ptr<const Cut> master_cut_;  // the last one made at the master problem's point
    int patience_ = 1, waiting_ = 0;         // iterations until the next one
    bool unlimited_ = false;
};

}  // namespace maxmargin
