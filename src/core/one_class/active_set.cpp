// The one-class problem by an active set. Most variables are at a bound, because their rows have a score far from the
// offset; few are between. So a working set of rows near the offset is solved by itself (working_rows.hpp), all other
// rows are proved to be on their side or looked at again (row_list.hpp), and those that are not come into the next
// working set. Samples of the rows, each solved in the same way, give the weights to start from.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "numeric/twofold.hpp"
#include "one_class/row_list.hpp"
#include "one_class/state.hpp"
#include "one_class/working_rows.hpp"

namespace maxmargin {
namespace {

constexpr std::size_t largest_stride = 64, smallest_stride = 8, smallest_sample = 2000, fewest_below = 400;
constexpr std::size_t stride_of_samples = 16;      // from a sample of a sample      // rows
constexpr std::size_t first_rows = 256;            // whose sum is the first guess
constexpr double sample_tol = 1e-2;                // of a sample's solution
constexpr std::int64_t most_sample_rounds = 8;     // for it
constexpr std::size_t smallest_working_set = 500;  // rows, or a share of all
constexpr std::size_t rows_per_member = 512;
constexpr std::size_t rows_per_near = 16, members_per_near = 4;  // of rows that are looked at before all others
constexpr double rounding = 1e-14;                               // of plain sums
constexpr double inner_share = 0.01;                             // of its gap to which a working set is solved
constexpr double nearly_solved = 1e-6;           // relative gap from which on a working set is solved to the tolerance
constexpr double too_many_unproved = 1.0 / 3.0;  // a share of the rows from which on all are scored
constexpr std::int64_t most_stalls = 20;         // rounds in which the gap does not fall to half

template <RowSource Rows>
class ActiveSet {
  public:
    ActiveSet(OneClassState& state, const Rows& rows, const Limits& limits, Monitor& monitor)
        : state_(state),
          rows_(rows),
          limits_(limits),
          monitor_(monitor),
          w_(rows.features() + 1),
          working_(rows, w_, monitor) {}

    Outcome run() {
        monitor_.expect_check(3.0 * static_cast<double>(rows_.stored()));
        double total = 0.0;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            total += state_.C[i];
        }
        share_ = state_.s / total;
        increase_ = rows_.every_row_increases();
        const bool continued = !state_.bounds.variables().empty();
        if (!continued) {
            const std::size_t stride = stride_of_sample();
            if (stride >= smallest_stride) {
                if (rows_.size() / (stride_of_samples * stride) >= smallest_sample) {
                    solve_sample(stride_of_samples * stride, rows_.size() / stride);
                }
                solve_sample(stride, rows_.size());
            }
        }
        RowList<Rows> list(state_, rows_, 1, increase_);
        if (continued) {
            take_variables(list);
        } else {
            begin(list, state_.s);
        }
        const Exit exit = go_on(list, state_.s, limits_.tol, limits_.max_iter, true);
        state_.bounds.replace_variables(list.size() == rows_.size() ? std::move(list.alphas) : variables_of(list));
        return {exit, round_};
    }

  private:
    // A sample has enough rows below the offset to tell where it is.
    std::size_t stride_of_sample() const {
        const auto below = static_cast<std::size_t>(share_ * static_cast<double>(rows_.size()));
        return std::min(std::clamp(below / fewest_below, smallest_stride, largest_stride),
                        rows_.size() / smallest_sample);
    }

    // Weights and the scores between which the offset is, from some of the rows.
    void solve_sample(std::size_t stride, std::size_t next_rows) {
        RowList<Rows> sample(state_, rows_, stride, increase_);
        if (sample.size() < smallest_sample / 2) {
            return;
        }
        const double share = share_;
        begin(sample, share * sample.total());
        go_on(sample, share * sample.total(), sample_tol, most_sample_rounds, false);
        find_range(sample, share, next_rows);
    }

    // Scores between which the quantile and the working set of so many rows are, judged by those of a list.
    void find_range(const RowList<Rows>& list, double share, std::size_t rows) {
        std::vector<double> scores = list.estimates(w_);
        const double n = static_cast<double>(list.size());
        const double chance = rows == list.size() ? 0.0 : 3.0 * std::sqrt(share * (1.0 - share) / n);
        auto quantile = [&](double part) {
            const auto place = static_cast<std::ptrdiff_t>(part * n);
            std::nth_element(scores.begin(), scores.begin() + place, scores.end());
            return scores[static_cast<std::size_t>(place)];
        };
        auto range = [&](double margin) {
            return Range{share - margin > 0.0 ? quantile(share - margin) : -infinity,
                         share + margin < 1.0 ? quantile(share + margin) : infinity};
        };
        const double half = 0.5 / static_cast<double>(rows);
        const double first = chance + half * static_cast<double>(working_size(rows)) + 2.0 / n;
        first_ = range(first);
        near_ = range(std::max(first, half * static_cast<double>(near_size(rows))));
    }

    static std::size_t working_size(std::size_t rows) { return std::max(smallest_working_set, rows / rows_per_member); }

    static std::size_t near_size(std::size_t rows) {
        return std::max(members_per_near * working_size(rows), rows / rows_per_near);
    }

    // The lowest scores at the weights of a sample, or at the sum of some rows, get their bounds; rows near the offset
    // are the first working set.
    void begin(RowList<Rows>& list, double s) {
        if (dense_dot(w_.data(), w_.data(), w_.size()) == 0.0) {
            for (std::size_t k = 0; k < list.size(); k += list.size() / first_rows + 1) {
                rows_.axpy(list.row(k), 1.0, w_.data());
            }
        }
        list.refer_to(w_);
        if (first_.is_all()) {
            find_range(list, s / list.total(), list.size());
        }
        if (!list.fill(s, first_, near_, places_, near_places_)) {
            find_range(list, s / list.total(), list.size());
            if (!list.fill(s, first_, near_, places_, near_places_)) {
                list.fill(s, {}, {}, places_, near_places_);
            }
        }
        list.sum_rows(w_);
        const std::size_t half = working_size(list.size()) / 2, middle = list.quantile();
        const std::size_t first = middle > half ? middle - half : 0;
        working_.members.clear();
        for (std::size_t p = first; p < std::min(middle + half + 1, places_.size()); ++p) {
            working_.members.push_back(list.member(places_[p]));
        }
        monitor_.poll(rows_.stored() * list.size() / rows_.size());
    }

    void take_variables(RowList<Rows>& list) {
        list.alphas.resize(list.size());
        for (std::size_t k = 0; k < list.size(); ++k) {
            list.alphas[k] = state_.bounds.variables()[list.row(k)];
        }
        list.sum_rows(w_);
        list.refer_to(w_);
        std::vector<unsigned char> none(list.size());
        working_.members.clear();
        candidates_.clear();
        for (std::size_t k = 0; k < list.size(); ++k) {
            candidates_.push_back(list.member(k));
        }
        // The offset for which as much lies below it as the variables add up to.
        std::vector<WorkingRow> sorted = candidates_;
        std::sort(sorted.begin(), sorted.end(),
                  [](const WorkingRow& a, const WorkingRow& b) { return a.score < b.score; });
        double below = 0.0;
        for (const WorkingRow& row : sorted) {
            rho_ = row.score;
            below += row.C;
            if (below >= state_.s) {
                break;
            }
        }
        choose_members(list);
    }

    Exit go_on(RowList<Rows>& list, double s, double tol, std::int64_t most_rounds, bool is_all) {
        // A close tolerance is outdone: where the variables between their bounds are known, one more sweep is the end.
        const double target = tol * (tol < close_bounds ? 1e-3 : 0.3);
        double best = infinity;
        std::int64_t stalls = 0;
        settle_near_rows(list, target);
        for (std::int64_t round = 1;; ++round) {
            const double size = dense_dot(w_.data(), w_.data(), w_.size());
            const double share = best <= nearly_solved * size ? 0.0 : inner_share;
            const bool goes_on = working_.solve(0.5 * size * target, share, is_all);
            keep_variables(list);
            round_ = is_all ? round : 0;
            const double gap = examine(list);
            const double square = dense_dot(w_.data(), w_.data(), w_.size());
            if (is_all && certify(list, s, gap, tol)) {
                return Exit::converged;
            }
            if (!is_all && gap <= tol * (0.5 * square - gap)) {
                return Exit::converged;
            }
            if (!goes_on || monitor_.look()) {
                return monitor_.exit();
            }
            if (round >= most_rounds) {
                return Exit::max_iter;
            }
            stalls = gap <= 0.5 * best ? 0 : stalls + 1;
            best = std::min(best, gap);
            if (stalls > most_stalls || square <= vanishing(list)) {
                return Exit::budget;
            }
            choose_members(list);
        }
    }

    // Most of what is wrong with the first variables is near the offset, where it costs little to see: the working set
    // that all rows are looked at with is chosen there.
    void settle_near_rows(RowList<Rows>& list, double target) {
        if (!near_places_.empty() && 2 * near_places_.size() < list.size()) {
            const double square = dense_dot(w_.data(), w_.data(), w_.size());
            working_.solve(0.5 * square * target, inner_share, false);
            keep_variables(list);
            examine_near_rows(list);
            choose_members(list);
        }
        near_places_.clear();
    }

    void keep_variables(RowList<Rows>& list) const {
        for (const WorkingRow& member : working_.members) {
            list.alphas[member.position] = member.alpha;
        }
    }

    // Weights that are zero but for rounding.
    double vanishing(const RowList<Rows>& list) const {
        double sum = 0.0;
        for (const WorkingRow& member : working_.members) {
            sum += member.length;
        }
        const double mean = sum / static_cast<double>(std::max<std::size_t>(working_.members.size(), 1));
        const double size =
            1e-13 * state_.s * mean * static_cast<double>(list.size()) / static_cast<double>(rows_.size());
        return size * size;
    }

    // Members are candidates for the next working set, and what they add to the gap; marks them.
    double begin_candidates(const RowList<Rows>& list) {
        rho_ = working_.rho();
        marks_.assign(list.size(), 0);
        farthest_ = 0.0;
        for (const WorkingRow& member : working_.members) {
            marks_[member.position] = 1;
            farthest_ = std::max(farthest_, std::abs(member.score - rho_));
        }
        candidates_ = working_.members;
        return working_.gap();
    }

    // What another row adds to the gap; it is a candidate if that is something, or if it is near.
    double see(const WorkingRow& row) {
        const double gap = row.gap(rho_);
        if (gap > 0.0 || std::abs(row.score - rho_) < farthest_ || row.is_free()) {
            candidates_.push_back(row);
        }
        return gap;
    }

    // Leaves those of the members and near rows in `candidates_` that may come into the next working set.
    void examine_near_rows(const RowList<Rows>& list) {
        begin_candidates(list);
        list.score(near_places_, w_, [&](RowIndex k, double score) {
            if (!marks_[k]) {
                WorkingRow row = list.member(k);
                row.score = score;
                see(row);
            }
        });
    }

    // The gap of all rows: those that are proved to be on their side have none. Leaves the others, with the members, in
    // `candidates_`.
    double examine(RowList<Rows>& list) {
        double gap = begin_candidates(list);
        list.find_unproved(w_, rho_, marks_, places_);
        if (static_cast<double>(places_.size()) > too_many_unproved * static_cast<double>(list.size()) ||
            list.has_many_references()) {
            list.refer_to(w_);
            for (std::size_t k = 0; k < list.size(); ++k) {
                if (!marks_[k]) {
                    gap += see(list.member(k));
                }
            }
            return gap;
        }
        list.begin_reference(w_);
        for (const WorkingRow& member : working_.members) {
            list.set_score(member.position, member.score);
        }
        list.score(places_, w_, [&](RowIndex k, double score) {
            list.set_score(k, score);
            gap += see(list.member(k));
        });
        return gap;
    }

    // Free variables, the worst of those whose variables must rise and of those that must fall, and rows near the
    // offset, without which these would have nobody to pair with.
    void choose_members(const RowList<Rows>& list) {
        const auto near_rows = static_cast<std::ptrdiff_t>(working_size(list.size()));
        const std::ptrdiff_t most_wrong = std::max(near_rows, static_cast<std::ptrdiff_t>(list.size() / 64));
        const auto first = candidates_.begin();
        auto take = [&](auto begin, std::ptrdiff_t most, const auto& belongs, const auto& before) {
            const auto end = std::partition(begin, candidates_.end(), belongs);
            if (end - begin > most) {
                std::nth_element(begin, begin + most, end, before);
                return begin + most;
            }
            return end;
        };
        auto worse = [this](const WorkingRow& a, const WorkingRow& b) { return a.gap(rho_) > b.gap(rho_); };
        auto nearer = [this](const WorkingRow& a, const WorkingRow& b) {
            return std::abs(a.score - rho_) < std::abs(b.score - rho_);
        };
        auto rises = [this](const WorkingRow& row) { return row.score < rho_ && row.alpha < row.C; };
        auto falls = [this](const WorkingRow& row) { return row.score > rho_ && row.alpha > 0.0; };
        auto end = std::partition(first, candidates_.end(), [](const WorkingRow& row) { return row.is_free(); });
        end = take(end, most_wrong, rises, worse);
        end = take(end, most_wrong, falls, worse);
        const std::ptrdiff_t wanted = std::max(near_rows - (end - first), near_rows / 4);
        end = take(end, wanted, [&](const WorkingRow& row) { return !rises(row) && !falls(row); }, nearer);
        working_.members.assign(first, end);
    }

    // Offers weights and variables with their values; whether these are within the tolerance, exactly computed.
    bool certify(RowList<Rows>& list, double s, double gap, double tol) {
        const Monitor::Checking checking(monitor_);
        const double square = dense_dot(w_.data(), w_.data(), w_.size());
        double dual = -0.5 * square * (1.0 + rounding), primal = dual + gap;
        const bool is_near = gap <= tol * std::abs(primal);
        TwofoldSum imbalance;
        if (is_near) {
            for (const double alpha : list.alphas) {
                imbalance.add(alpha);
            }
            imbalance.add(-s);
        }
        if (is_near && tol < close_bounds) {
            dual = exact_dual(list);
            working_.look();
            gap = examine(list);
            primal = dual + gap;
        }
        primal += rho_ * imbalance.value();
        dual -= std::abs(rho_ * imbalance.value());
        std::vector<double> weights = w_;
        weights.back() = -rho_;
        if (is_near) {
            if (!(state_.bounds.primal() < primal)) {
                state_.bounds.replace_weights(primal, std::move(weights));
            }
            state_.bounds.correct(state_.bounds.primal(), dual);
        } else {
            state_.bounds.offer_weights(primal, weights, infinity);
            state_.bounds.offer_variables(
                dual, [&](std::vector<double>& best) { copy_variables(list, best); }, infinity);
        }
        monitor_.report(round_, 0.0, working_.members.size(), state_.bounds);
        return is_near && state_.bounds.gap() <= tol;
    }

    // Variables only get better, so that the last ones are the best: they are copied where somebody looks before.
    void copy_variables(const RowList<Rows>& list, std::vector<double>& best) const {
        if (monitor_.wants_weights()) {
            best = variables_of(list);
        }
    }
    std::vector<double> variables_of(const RowList<Rows>& list) const {
        if (list.size() == rows_.size()) {
            return list.alphas;
        }
        std::vector<double> all(rows_.size());
        for (std::size_t k = 0; k < list.size(); ++k) {
            all[list.row(k)] = list.alphas[k];
        }
        return all;
    }

    // The weights of the variables anew, as sums of twice the digits, and their dual value.
    double exact_dual(const RowList<Rows>& list) {
        std::vector<TwofoldSum> sums(w_.size());
        for (std::size_t k = 0; k < list.size(); ++k) {
            const double alpha = list.alphas[k];
            if (alpha == 1.0) {  // the bound of most, and a product without an error
                rows_.for_each(list.row(k), [&](std::size_t j, double x) { sums[j].add(x); });
            } else if (alpha != 0.0) {
                rows_.for_each(list.row(k), [&](std::size_t j, double x) { sums[j].add_product(alpha, x); });
            }
        }
        TwofoldSum value;
        for (std::size_t j = 0; j < w_.size(); ++j) {
            w_[j] = sums[j].value();
            value.add_product(-0.5 * w_[j], w_[j]);
            value.add(-w_[j] * sums[j].rest());
        }
        return value.value();
    }

    OneClassState& state_;
    const Rows& rows_;
    const Limits& limits_;
    Monitor& monitor_;
    std::vector<double> w_;
    WorkingRows<Rows> working_;
    std::vector<RowIndex> places_;
    std::vector<unsigned char> marks_;
    std::vector<WorkingRow> candidates_;
    double rho_ = 0.0, farthest_ = 0.0;
    double share_ = 0.0;  // of the weight of all rows that the variables have
    bool increase_ = false;
    Range first_, near_;  // scores of the first working set, and of the rows that are looked at before all others
    std::vector<RowIndex> near_places_;
    std::int64_t round_ = 0;
};

}  // namespace

Outcome active_set(OneClassState& state, const Limits& limits, Monitor& monitor) {
    return ActiveSet<UserRows>(state, state.rows().rows(), limits, monitor).run();
}

}  // namespace maxmargin
