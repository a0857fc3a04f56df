// The multi-class dual problem as the kernels see it (Keerthi et al. 2008). A row of label y has a dual variable a_m >=
// 0 for each other class m, kept as a list of those that are not zero; the weights are, for both formulations,
//
//     w_m = sum_{i: y_i = m} (sum_m' a_i^m') x_i - sum_{i: y_i != m} a_i^m x_i
//
// and with the slacks z_i^m = 1 - (w_y - w_m).x_i the two objectives
//
//     Crammer-Singer   1/2 |w|^2 + sum_i C_i max(0, max_m z_i^m)     with  sum_m a_i^m <= C_i
//     Weston-Watkins   1/2 |w|^2 + sum_i C_i sum_m max(0, z_i^m)     with  a_i^m <= C_i
//     dual             sum_i sum_m a_i^m - 1/2 |w|^2                 for both.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "multiclass/subproblem.hpp"
#include "numeric/class_kernels.hpp"
#include "numeric/compiler.hpp"
#include "numeric/regulariser.hpp"
#include "rows/row_source.hpp"
#include "run/chunks.hpp"

namespace maxmargin {

// What a visit reads and writes apart from its row, on one cache line. Most rows have no nonzero variable or one, which
// is kept here; longer lists are in the pool.
struct alignas(64) MulticlassRow {
    double curvature = 0.0;  // |x|^2
    double C = 0.0;
    double sum = 0.0;  // of the list
    std::uint32_t label = 0;
    std::uint32_t count = 0;
    std::size_t start = 0;  // of a place in the pool
    std::size_t capacity = 0;
    ClassValue only{};

    bool takes_part() const { return C > 0.0; }
};

// The lists of nonzero variables. One that outgrows its place in the pool moves to a place of twice the size, and
// leaves its own to be used again: memory grows with the number of nonzero variables, not with rows times classes.
class MulticlassVariables {
  public:
    std::vector<MulticlassRow> rows;

    std::span<const ClassValue> list(std::size_t i) const {
        const MulticlassRow& row = rows[i];
        return {row.count <= 1 ? &row.only : pool_.data() + row.start, row.count};
    }

    // Zeros are left out.
    void assign(std::size_t i, std::span<const ClassValue> values) {
        MulticlassRow& row = rows[i];
        row.count = 0;
        row.sum = 0.0;
        for (const ClassValue& v : values) {
            row.count += v.value != 0.0 ? 1 : 0;
            row.sum += v.value;
        }
        if (row.count > row.capacity && row.count > 1) {
            move(row);
        }
        ClassValue* to = row.count <= 1 ? &row.only : pool_.data() + row.start;
        for (const ClassValue& v : values) {
            if (v.value != 0.0) {
                *to++ = v;
            }
        }
    }

    void prefetch(std::size_t i) const {
        if (rows[i].count > 1) {
            MAXMARGIN_PREFETCH(pool_.data() + rows[i].start);
        }
    }

  private:
    static std::size_t number(std::size_t capacity) { return static_cast<std::size_t>(std::countr_zero(capacity)); }

    void move(MulticlassRow& row) {
        if (row.capacity > 0) {
            places_[number(row.capacity)].push_back(row.start);
        }
        row.capacity = std::bit_ceil(static_cast<std::size_t>(row.count));
        std::vector<std::size_t>& places = places_[number(row.capacity)];
        if (places.empty()) {
            row.start = pool_.size();
            pool_.resize(pool_.size() + row.capacity);
        } else {
            row.start = places.back();
            places.pop_back();
        }
    }

    std::vector<ClassValue> pool_;
    std::vector<std::size_t> places_[64];  // no longer used, by the logarithm of their capacity
};

struct Visit {
    double gap = 0.0;        // what the row added to primal - dual before the step
    double gain = 0.0;       // growth of the dual
    double violation = 0.0;  // v_i (6), or the largest v_i^m (18)
    std::size_t cost = 0;    // in products of a stored value and a weight
};

// What a visit does to its row: the new variables, and the classes whose weights change, the row's own one last.
struct RowStep {
    bool moves = false;
    std::vector<ClassValue> variables;
    std::vector<std::uint32_t> which;
    std::vector<double> changes;

    // For so many classes, so that no visit needs memory any more.
    void reserve(std::size_t classes) {
        variables.reserve(classes);
        which.reserve(classes);
        changes.reserve(classes);
    }
};

template <RowSource Rows>
class MulticlassProblem {
  public:
    MulticlassProblem(const Rows& rows, MulticlassVariables& variables, Formulation formulation, std::size_t classes,
                      double bias)
        : rows_(rows),
          variables_(variables),
          formulation_(formulation),
          classes_(classes),
          width_(class_width(classes)),
          bias_(bias),
          scores_(width_) {
        step_.reserve(classes);
        some_.reserve(classes);
        listed_.reserve(classes);
        slacks_.resize(classes);
    }

    std::size_t size() const { return rows_.size(); }
    std::size_t classes() const { return classes_; }
    std::size_t width() const { return width_; }
    double bias() const { return bias_; }
    std::size_t weights() const { return (rows_.features() + 1) * width_; }
    Formulation formulation() const { return formulation_; }
    const Rows& rows() const { return rows_; }
    std::size_t visit_cost(std::size_t i) const { return (rows_.stored(i) + row_cost) * width_; }
    MulticlassVariables& variables() { return variables_; }
    const MulticlassVariables& variables() const { return variables_; }
    // What a visit of all classes of all rows costs.
    double pass_cost() const { return static_cast<double>((rows_.stored() + row_cost * size()) * width_); }

    void prefetch_start(std::size_t i) const {
        rows_.prefetch_start(i);
        MAXMARGIN_PREFETCH_TO_WRITE(&variables_.rows[i]);
    }
    void prefetch(std::size_t i) const {
        rows_.prefetch(i);
        variables_.prefetch(i);
    }

    template <class Vector>
    void rebuild_weights(Vector& w) {
        w.assign((rows_.features() + 1) * width_, 0.0);
        for (std::size_t i = 0; i < size(); ++i) {
            step_.which.clear();
            step_.changes.clear();
            for (const ClassValue& v : variables_.list(i)) {
                step_.which.push_back(v.which);
                step_.changes.push_back(-v.value);
            }
            if (!step_.which.empty()) {
                step_.which.push_back(variables_.rows[i].label);
                step_.changes.push_back(variables_.rows[i].sum);
                add(i, step_, w.data());
            }
        }
    }

    // The primal value of any weights; rows of weight zero take no part.
    double primal(std::span<const double> w, Team* team = nullptr) const {
        const Chunks chunks(size(), static_cast<std::size_t>(pass_cost()) / class_block);
        return Regulariser{}.value(w) + chunks.sum<double>(team, [&](std::size_t begin, std::size_t end) {
            MulticlassProblem own(rows_, variables_, formulation_, classes_, bias_);  // for its scratch
            double losses = 0.0;
            for (std::size_t i = begin; i < end; ++i) {
                const MulticlassRow& row = variables_.rows[i];
                if (row.takes_part()) {
                    own.find_scores(i, w.data());
                    losses += loss(row, own.scores_);
                }
            }
            return losses;
        });
    }

    // The loss of a row with given scores, of which that of its own class is lost.
    double loss(const MulticlassRow& row, std::vector<double>& scores) const {
        const double own = scores[row.label];
        scores[row.label] = -infinity;
        return row.C * (formulation_ == Formulation::crammer_singer
                            ? std::max(0.0, 1.0 - own + largest_score(scores.data(), width_))
                            : sum_above(scores.data(), width_, 1.0 - own));
    }

    // The dual value of the variables, whose weights are `sums`.
    double dual(std::span<const double> sums) const {
        double sum = 0.0;
        for (const MulticlassRow& row : variables_.rows) {
            sum += row.sum;
        }
        return sum - Regulariser{}.conjugate(sums);
    }

    // Whether a step on the classes that are not at a bound would leave the row as it is: then the paper's shrinking
    // removes it.
    bool at_bounds(std::size_t i) const {
        const MulticlassRow& row = variables_.rows[i];
        const std::span<const ClassValue> list = variables_.list(i);
        if (formulation_ == Formulation::crammer_singer) {
            return row.count == 0 || (row.count == 1 && list[0].value >= row.C);
        }
        return std::all_of(list.begin(), list.end(), [&](const ClassValue& v) { return v.value >= row.C; });
    }

    // The scores of row i for all classes; what is beyond them, up to a whole block, is minus infinity.
    std::span<double> scores(std::size_t i, const double* w) {
        find_scores(i, w);
        return scores_;
    }

    // Those of some classes only.
    void some_scores(std::size_t i, std::span<const std::uint32_t> classes, const double* w,
                     std::vector<double>& scores) const {
        const double* bias = w + rows_.features() * width_;
        scores.clear();
        for (const std::uint32_t m : classes) {
            scores.push_back(bias_ * bias[m]);
        }
        rows_.some_class_scores(i, w, width_, classes, scores.data());
    }

    // w_m += changes_m x_i for some classes.
    void add(std::size_t i, std::span<const std::uint32_t> classes, std::span<const double> changes, double* w) const {
        rows_.add_to_classes(i, classes, changes.data(), w, width_);
        double* bias = w + rows_.features() * width_;
        for (std::size_t c = 0; c < classes.size(); ++c) {
            bias[classes[c]] += bias_ * changes[c];
        }
    }

    // w += changes[m] x_i for all classes m.
    void add(std::size_t i, std::span<const double> changes, double* w) {
        step_.which.clear();
        step_.changes.clear();
        for (std::uint32_t m = 0; m < classes_; ++m) {
            if (changes[m] != 0.0) {
                step_.which.push_back(m);
                step_.changes.push_back(changes[m]);
            }
        }
        add(i, step_, w);
    }

    // Steps to the optimum over all classes of row i.
    Visit visit(std::size_t i, double* w) {
        const Visit result = look(i, w, step_);
        take(i, step_, w);
        return result;
    }

    // Steps to the optimum over the listed classes of row i that are not at their upper bound.
    Visit visit_listed(std::size_t i, double* w) {
        const Visit result = look_listed(i, w, step_);
        take(i, step_, w);
        return result;
    }

    // A step in two parts: what it would be, and the step itself, first of the variables, then of the weights.
    void assign(std::size_t i, const RowStep& step) {
        if (step.moves) {
            variables_.assign(i, step.variables);
        }
    }
    void add(std::size_t i, const RowStep& step, double* w) const {
        if (!step.which.empty()) {
            add(i, step.which, step.changes, w);
        }
    }

    void take(std::size_t i, const RowStep& step, double* w) {
        assign(i, step);
        add(i, step, w);
    }

    Visit look(std::size_t i, const double* w, RowStep& step) {
        const MulticlassRow& row = variables_.rows[i];
        Visit result;
        step.moves = false;
        step.which.clear();
        result.cost = visit_cost(i);
        find_scores(i, w);
        const double own = scores_[row.label];
        const std::span<const ClassValue> list = variables_.list(i);
        // The slacks of the listed classes are set aside, so that what is left in `scores_` are the others.
        listed_.clear();
        scores_[row.label] = -infinity;
        double linear = 0.0, largest = 0.0, smallest = infinity;
        for (const ClassValue& v : list) {
            const double z = 1.0 - own + scores_[v.which];
            scores_[v.which] = -infinity;
            listed_.push_back(z);
            linear += v.value * z;
            largest = std::max(largest, z);
            smallest = std::min(smallest, z);
        }
        const double rest = 1.0 - own + largest_score(scores_.data(), width_);
        result.gap = -linear;
        if (formulation_ == Formulation::crammer_singer) {
            largest = std::max(largest, rest);
            result.gap += row.C * largest;
            result.violation = largest - (row.sum < row.C ? std::min(smallest, 0.0) : smallest);
        } else {
            double losses = rest > 0.0 ? sum_above(scores_.data(), width_, 1.0 - own) : 0.0;
            result.violation = std::max(rest, 0.0);
            for (std::size_t n = 0; n < list.size(); ++n) {
                losses += std::max(listed_[n], 0.0);
                result.violation =
                    std::max(result.violation, list[n].value < row.C ? std::abs(listed_[n]) : -listed_[n]);
            }
            result.gap += row.C * losses;
        }
        if (result.violation <= 0.0) {
            return result;
        }
        if (row.curvature == 0.0) {
            result.gain = result.gap;
            settle_zero_row(row, step);
            return result;
        }
        gather(list, row.sum, row.curvature, row.C, own, rest, step.variables);
        solve(i, 0.0, step, result);
        return result;
    }

    // The step that gives row i the variables that weights `w` ask for when a curvature holds them near those of
    // `center`. Returns the loss of the row at `w`.
    double look_near(std::size_t i, const double* w, const MulticlassVariables& center, double curvature,
                     RowStep& step) {
        step.moves = false;
        step.which.clear();
        const MulticlassRow& row = variables_.rows[i];
        const std::span<const ClassValue> list = center.list(i), now = variables_.list(i);
        find_scores(i, w);
        const double own = scores_[row.label];
        scores_[row.label] = -infinity;
        const bool worst = formulation_ == Formulation::crammer_singer;
        double largest = 0.0, losses = worst ? 0.0 : sum_above(scores_.data(), width_, 1.0 - own);
        listed_.clear();
        for (const ClassValue& v : list) {
            listed_.push_back(1.0 - own + scores_[v.which]);
            largest = std::max(largest, listed_.back());
            scores_[v.which] = -infinity;
        }
        const double rest = 1.0 - own + largest_score(scores_.data(), width_);
        losses = row.C * (worst ? std::max(largest, rest) : losses);
        if (list.empty() && now.empty() && rest <= 0.0) {
            return losses;
        }
        gather(list, center.rows[i].sum, curvature, row.C, own, rest, step.variables);
        for (const ClassValue& v : now) {
            auto same = [&](const ClassValue& c) { return c.which == v.which; };
            if (std::none_of(step.variables.begin(), step.variables.end(), same)) {
                step.variables.push_back({v.which, -infinity});
                listed_.push_back(0.0);
            }
        }
        Visit unused;
        solve(i, 0.0, step, unused);
        return losses;
    }

    Visit look_listed(std::size_t i, const double* w, RowStep& step) {
        const MulticlassRow& row = variables_.rows[i];
        const std::span<const ClassValue> list = variables_.list(i);
        Visit result;
        step.moves = false;
        step.which.clear();
        step.variables.clear();
        const bool bounded = formulation_ == Formulation::weston_watkins;
        double fixed = 0.0;
        for (const ClassValue& v : list) {
            if (bounded && v.value >= row.C) {
                fixed += v.value;
            } else {
                step.which.push_back(v.which);
                step.variables.push_back(v);
            }
        }
        step.which.push_back(row.label);
        result.cost = (rows_.stored(i) + row_cost) * std::min(width_, class_block * step.which.size());
        some_scores(i, step.which, w, some_);
        step.which.clear();
        const double own = some_.back();
        listed_.clear();
        double largest = 0.0, smallest = bounded || row.sum < row.C ? 0.0 : infinity;
        for (std::size_t n = 0; n < step.variables.size(); ++n) {
            const double z = 1.0 - own + some_[n];
            listed_.push_back(z);
            largest = std::max(largest, z);
            smallest = std::min(smallest, z);
            step.variables[n].value += z / row.curvature + row.sum - fixed;
        }
        result.violation = bounded ? std::max(largest, -smallest) : largest - smallest;
        if (result.violation > 0.0 && row.curvature > 0.0) {
            solve(i, fixed, step, result);
        }
        return result;
    }

  private:
    static constexpr std::size_t row_cost = 4;  // what a visit costs beside its stored values, in stored values

    void find_scores(std::size_t i, const double* w) {
        const double* bias = w + rows_.features() * width_;
        for (std::size_t m = 0; m < width_; ++m) {
            scores_[m] = bias_ * bias[m];
        }
        rows_.class_scores(i, w, width_, scores_.data());
        std::fill(scores_.begin() + static_cast<std::ptrdiff_t>(classes_), scores_.end(), -infinity);
    }

    // All listed classes, whose slacks are in `listed_`, and those others that may get a share, whose scores are left
    // in `scores_`; `rest` is the largest slack of these.
    void gather(std::span<const ClassValue> list, double sum, double curvature, double C, double own, double rest,
                std::vector<ClassValue>& candidates) {
        candidates.clear();
        double most = rest / curvature + sum;
        for (std::size_t n = 0; n < list.size(); ++n) {
            const double t = listed_[n] / curvature + list[n].value + sum;
            candidates.push_back({list[n].which, t});
            most = std::max(most, t);
        }
        const double level = most > 0.0 ? lowest_level(formulation_, most, C) : 0.0;
        if (rest / curvature + sum > level) {
            const double bound = (level - sum) * curvature - 1.0 + own;
            for (std::size_t m = 0; m < classes_; ++m) {
                if (scores_[m] > bound) {
                    const double z = 1.0 - own + scores_[m];
                    listed_.push_back(z);
                    candidates.push_back({static_cast<std::uint32_t>(m), z / curvature + sum});
                }
            }
        }
    }

    // A row of zeros has slack 1 in all classes whatever the weights are, and its variables go to their bounds at once.
    void settle_zero_row(const MulticlassRow& row, RowStep& step) const {
        step.moves = true;
        step.variables.clear();
        for (std::uint32_t m = 0; m < classes_; ++m) {
            if (m != row.label && (step.variables.empty() || formulation_ == Formulation::weston_watkins)) {
                step.variables.push_back({m, row.C});
            }
        }
    }

    // From the t in `step.variables`, whose slacks are in `listed_`, to the new variables and the changes of weights.
    // Those of the list that are not among them are at their bound, and their sum is `fixed`.
    void solve(std::size_t i, double fixed, RowStep& step, Visit& result) {
        const MulticlassRow& row = variables_.rows[i];
        const std::span<const ClassValue> list = variables_.list(i);
        for (std::size_t n = 0; n < step.variables.size(); ++n) {
            slacks_[step.variables[n].which] = {0.0, listed_[n]};
        }
        for (const ClassValue& v : list) {
            slacks_[v.which].before = v.value;
        }
        solve_subproblem(formulation_, step.variables, row.C);
        step.changes.clear();
        double sum = 0.0, squares = 0.0, linear = 0.0;
        for (const ClassValue& v : step.variables) {
            const double change = v.value - slacks_[v.which].before;
            if (change != 0.0) {
                linear += change * slacks_[v.which].slack;
                squares += change * change;
                sum += change;
                step.which.push_back(v.which);
                step.changes.push_back(-change);
            }
        }
        if (step.which.empty()) {
            return;
        }
        step.which.push_back(row.label);
        step.changes.push_back(sum);
        step.moves = true;
        result.gain = linear - 0.5 * row.curvature * (squares + sum * sum);
        result.cost += rows_.stored(i) * std::min(width_, class_block * step.which.size());
        if (fixed > 0.0) {
            for (const ClassValue& v : list) {
                if (v.value >= row.C) {
                    step.variables.push_back(v);
                }
            }
        }
    }

    struct Slack {
        double before;
        double slack;
    };

    const Rows& rows_;
    MulticlassVariables& variables_;
    Formulation formulation_;
    std::size_t classes_;
    std::size_t width_;
    double bias_;
    // Scratch.
    std::vector<double> scores_, some_, listed_;
    std::vector<Slack> slacks_;
    RowStep step_;
};

}  // namespace maxmargin
