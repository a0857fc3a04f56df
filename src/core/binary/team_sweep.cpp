#include "binary/team_sweep.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>

#include "binary/dual_step.hpp"
#include "numeric/simd.hpp"
#include "run/chunks.hpp"
#include "run/spinning.hpp"

namespace maxmargin {
namespace {

constexpr std::size_t batch = 7;  // rows: a number for each and one more make a cache line
constexpr std::size_t lag = 2;    // batches before its own whose steps a score lacks
constexpr std::size_t slots = 4;  // batches under way, at the most
static_assert(lag < slots);
constexpr std::size_t entries_ahead = 8, places_ahead = 20;

}  // namespace

// A number for each row of a batch.
using Batch = std::array<double, batch>;

// A batch from one thread to others, in a cache line that is sent once.
struct alignas(128) Message {
    Batch values{};
    std::atomic<std::size_t> number{0};

    void send(std::size_t own, const Batch& given) {
        values = given;
        number.store(own, std::memory_order_release);
    }
    void prefetch() const { MAXMARGIN_PREFETCH(this); }
    void prefetch_to_send() { MAXMARGIN_PREFETCH_TO_WRITE(this); }

    // Whether the message of this number has come, which is waited for unless none has a number above `last`.
    bool receive(std::size_t wanted, const std::atomic<std::size_t>& last) const {
        return spin_until([&] { return number.load(std::memory_order_acquire) >= wanted; },
                          [&] { return last.load(std::memory_order_acquire) < wanted; });
    }
};

// The messages under way; that of batch b has the number b + 1.
struct Ring {
    std::array<Message, slots> messages;

    Message& of(std::size_t b) { return messages[b % slots]; }
};

// One epoch under way. A thread adds a batch of steps to its weights after it has scored `lag` batches more. So long do
// messages take, and neither their lines nor the threads wait for each other.
template <class Rows>
class TeamSweep::Epoch {
  public:
    Epoch(TeamSweep& sweep, const Rows& rows, std::span<const RowIndex> schedule, std::size_t parts,
          std::size_t members, double* w)
        : sweep_(sweep),
          rows_(rows),
          schedule_(schedule),
          batches_((schedule.size() + batch - 1) / batch),
          parts_(parts),
          members_(members),
          w_(w),
          scores_(parts),
          squares_(2 * parts),
          start_(members) {}

    // What all threads but the first do. A message is sent before the next rows are read, not before weights are
    // written, which would have to wait for its line.
    void follow(std::size_t member) {
        begin(member);
        std::vector<Batch> own(parts_);
        for (std::size_t b = 0; b < batches_ + lag; ++b) {
            if (b >= lag) {
                changes_.of(b - lag).prefetch();
            }
            for (std::size_t part = member; part < parts_ && b < batches_; part += members_) {
                own[part] = score(part, b);
            }
            if (b >= lag) {
                const Message& changes = changes_.of(b - lag);
                if (!changes.receive(b - lag + 1, last_)) {
                    break;
                }
                for (std::size_t part = member; part < parts_; part += members_) {
                    add(part, b - lag, changes.values);
                }
            }
            for (std::size_t part = member; part < parts_ && b < batches_; part += members_) {
                scores_[part].of(b).send(b + 1, own[part]);
            }
        }
        end(member);
    }

    SweepResult lead(const ShrinkRule& rule, bool with_gains, Visits& visits, Monitor& monitor) {
        begin(0);
        double* const bias = w_ + rows_.features();
        const double bias_at_start = sweep_.sweep_.column() * *bias;
        std::size_t batches = batches_;
        Steps all;
        for (std::size_t b = 0; b < batches + lag; ++b) {
            Batch sums{};
            if (b < batches) {
                for (std::size_t part = 1; part < parts_; ++part) {
                    scores_[part].of(b).prefetch();
                }
                changes_.of(b).prefetch_to_send();
                sums = score(0, b);
                for (std::size_t part = members_; part < parts_; part += members_) {
                    scores_[part].of(b).send(b + 1, score(part, b));
                }
            }
            for (std::size_t part = 0; part < parts_ && b >= lag; part += members_) {
                add(part, b - lag, all.of(b - lag));
            }
            if (b >= batches) {
                continue;
            }
            for (std::size_t part = 1; part < parts_; ++part) {
                Message& own = scores_[part].of(b);
                own.receive(b + 1, last_);
                for (std::size_t k = 0; k < batch; ++k) {
                    sums[k] += own.values[k];
                }
            }
            const std::size_t work = take_steps(b, sums, rule, with_gains, bias, visits, all);
            if (monitor.poll(work)) {
                batches = b + 1;
                last_.store(batches, std::memory_order_release);
                visits.gains.resize(with_gains ? std::min(batches * batch, schedule_.size()) : 0);
            }
            changes_.of(b).send(b + 1, all.of(b));
        }
        end(0);
        const double balance = all.balance;
        all.result.gain = all.linear - balance * (bias_at_start + 0.5 * sweep_.sweep_.bias().curvature * balance);
        visits.highest = all.highest;
        visits.lowest = all.lowest;
        predicted_ = all.gain;
        return all.result;
    }

    // What the steps would have gained by themselves, and what they did gain.
    double predicted_gain() const { return predicted_; }
    double gain_by_weights() const {
        double change = 0.0;
        for (std::size_t part = 0; part < parts_; ++part) {
            change += squares_[part] - squares_[parts_ + part];
        }
        return 0.5 * change;
    }

  private:
    // What the steps so far add up to.
    struct Steps {
        SweepResult result;
        double linear = 0.0, balance = 0.0;  // of the dual, and the sum of sign_i times the changes
        double gain = 0.0;                   // by themselves
        double highest = -infinity, lowest = infinity;
        std::array<Batch, slots> changes{};  // of the last batches
        std::array<double, slots> along{};   // the common direction

        Batch& of(std::size_t b) { return changes[b % slots]; }
        // What scores of batch b lack of it; what the batch itself has added so far included.
        double missing(std::size_t b) const {
            double sum = 0.0;
            for (std::size_t n = 0; n <= std::min(lag, b); ++n) {
                sum += along[(b - n) % slots];
            }
            return sum;
        }
    };

    // The threads begin together, and take the length of the weights between their own changes to them.
    void begin(std::size_t member) {
        measure(member, 0);
        start_.wait();
    }
    void end(std::size_t member) {
        start_.wait();
        measure(member, parts_);
    }
    void measure(std::size_t member, std::size_t to) {
        const std::size_t width = rows_.features();
        for (std::size_t part = member; part < parts_; part += members_) {
            const std::size_t first = width * part / parts_, last = width * (part + 1) / parts_;
            squares_[to + part] = dense_dot(w_ + first, w_ + first, last - first);
        }
    }

    Batch score(std::size_t part, std::size_t b) const {
        Batch scores{};
        const auto own = rows_.part(part);
        const std::size_t first = b * batch, count = std::min(batch, schedule_.size() - first);
        for (std::size_t k = 0; k < count; ++k) {
            const std::size_t n = first + k;
            if (n + places_ahead < schedule_.size()) {
                own.prefetch_start(schedule_[n + places_ahead]);
            }
            if (n + entries_ahead < schedule_.size()) {
                own.prefetch(schedule_[n + entries_ahead]);
            }
            scores[k] = own.dot(schedule_[n], w_);
        }
        return scores;
    }

    void add(std::size_t part, std::size_t b, const Batch& changes) const {
        const auto own = rows_.part(part);
        const std::size_t first = b * batch, count = std::min(batch, schedule_.size() - first);
        for (std::size_t k = 0; k < count; ++k) {
            if (changes[k] != 0.0) {
                own.axpy(schedule_[first + k], changes[k], w_);
            }
        }
    }

    // The steps of batch b; returns their work.
    std::size_t take_steps(std::size_t b, const Batch& scores, const ShrinkRule& rule, bool with_gains, double* bias,
                           Visits& visits, Steps& all) {
        const DualSweep& sweep = sweep_.sweep_;
        const Loss loss = sweep.loss();
        const double column = sweep.column(), bias_curvature = sweep.bias().curvature;
        const std::size_t first = b * batch, count = std::min(batch, schedule_.size() - first);
        std::size_t work = 0;
        Batch& changes = all.of(b);
        changes = {};
        all.along[b % slots] = 0.0;
        double missing = all.missing(b);
        for (std::size_t k = 0; k < count; ++k) {
            const std::size_t i = schedule_[first + k];
            if (first + k + places_ahead < schedule_.size()) {
                MAXMARGIN_PREFETCH_TO_WRITE(&sweep_.variables_[schedule_[first + k + places_ahead]]);
                MAXMARGIN_PREFETCH(&sweep_.along_[schedule_[first + k + places_ahead]]);
            }
            Variable& v = sweep_.variables_[i];
            const double along = sweep_.along_[i];
            double score = scores[k] + along * missing + column * *bias;
            if (with_gains) {  // then a row may have been visited just now
                const double rest = v.curvature - loss.diagonal(v.C()) - along * along;
                score += rest * own_changes(b, k, all);
            }
            const DualStep step = step_on(loss, v, score, rule, [bias_curvature](const Variable& of, double) {
                return of.curvature + bias_curvature;
            });
            const std::size_t stored = rows_.stored(i);
            work += stored + DualSweep::row_cost;
            all.result.gap += step.gap_share;
            if (step.shrinks) {
                visits.shrunk.push_back(static_cast<RowIndex>(i));
            } else {
                all.highest = std::max(all.highest, step.violation);
                all.lowest = std::min(all.lowest, step.violation);
                if (step.change != 0.0) {
                    all.linear += step.change * (v.target - loss.diagonal(v.C()) * (v.alpha + 0.5 * step.change)) -
                                  loss.epsilon * (std::abs(step.alpha) - std::abs(v.alpha));
                    all.gain += step.gain;
                    v.alpha = step.alpha;
                    const double change = step.change * v.sign();
                    changes[k] = change;
                    all.along[b % slots] += along * change;
                    missing += along * change;
                    all.balance += change;
                    *bias += change * sweep.bias().step;
                    work += stored;
                    ++visits.count;
                } else {
                    visits.still[first + k] = 1;
                }
            }
            if (with_gains) {
                visits.gains[first + k] = step.gain;
            }
        }
        all.result.work += static_cast<double>(work);
        return work;
    }

    // What the variable of a row has changed by since the weights of its score, with its sign.
    double own_changes(std::size_t b, std::size_t k, const Steps& all) const {
        const std::size_t now = b * batch + k, first = (b - std::min(lag, b)) * batch;
        double sum = 0.0;
        for (std::size_t n = first; n < now; ++n) {
            sum += schedule_[n] == schedule_[now] ? all.changes[n / batch % slots][n % batch] : 0.0;
        }
        return sum;
    }

    TeamSweep& sweep_;
    const Rows& rows_;
    std::span<const RowIndex> schedule_;
    std::size_t batches_, parts_, members_;
    double* w_;
    std::vector<Ring> scores_;  // of each part
    Ring changes_;
    std::vector<double> squares_;  // of the weights, of each part before and after
    SpinBarrier start_;
    double predicted_ = 0.0;
    std::atomic<std::size_t> last_{std::numeric_limits<std::size_t>::max()};  // batch, where the sweep ends early
};

ColumnParts TeamSweep::parts_of(const UserRows& rows, std::size_t given) {
    constexpr std::size_t fewest_entries = 500'000, shortest_row = 48;
    constexpr std::size_t entries_of_part = 200, most_parts = 8;  // of a row, so that a visit is worth it
    constexpr double step_cost = 30.0;                            // beside the entries of a row
    const std::size_t length = rows.stored() / std::max<std::size_t>(rows.size(), 1);
    if (!rows.sparse() || given == 1 || (given == 0 && (rows.stored() < fewest_entries || length < shortest_row))) {
        return {};
    }
    const std::size_t count = given > 0 ? given : std::clamp(length / entries_of_part, std::size_t{2}, most_parts);
    const double cost = step_cost / static_cast<double>(std::max<std::size_t>(length, 1));
    return {count, std::max((1.0 + cost) / static_cast<double>(count) - cost, 0.0)};
}

TeamSweep::TeamSweep(const DualSweep& sweep, std::span<Variable> variables, Team& team, bool large)
    : sweep_(sweep), variables_(variables), team_(team) {
    if (large) {
        const SweptRows& rows = sweep_.rows();
        least_rows_ = std::max(least_rows_, least_entries * rows.size() / std::max<std::size_t>(rows.stored(), 1));
    }
    find_common_direction();
}

SweepResult TeamSweep::run(std::span<const RowIndex> schedule, const ShrinkRule& rule, bool with_gains, double* w,
                           Visits& visits, Monitor& monitor) {
    if (!helps_ || schedule.size() < least_rows_) {
        return sweep_.run(schedule, rule, with_gains, w, visits, monitor);
    }
    const PackedRows& packed = *sweep_.rows().packed();
    const std::size_t parts = packed.parts().count(), members = std::min(team_.size(), parts);
    visits.shrunk.clear();
    visits.still.assign(schedule.size(), 0);
    // What the first thread does must not fail while the others wait for it.
    visits.shrunk.reserve(schedule.size());
    visits.gains.resize(with_gains ? schedule.size() : 0);
    visits.count = 0;
    SweepResult result;
    packed.with_view([&](const auto& rows) {
        Epoch epoch(*this, rows, schedule, parts, members, w);
        team_.run([&](std::size_t member) {
            if (member == 0) {
                result = epoch.lead(rule, with_gains, visits, monitor);
            } else if (member < members) {
                epoch.follow(member);
            }
        });
        result.gain += epoch.gain_by_weights();
        helps_ = result.gain >= least_gain * epoch.predicted_gain();
    });
    return result;
}

// The direction in which rows extend most, by some iterations of the power method on a sample of them.
void TeamSweep::find_common_direction() {
    constexpr std::size_t sample = 256;
    constexpr int rounds = 3;
    const SweptRows& rows = sweep_.rows();
    const std::size_t step = 1 + rows.size() / (sample + 1);
    std::vector<double> direction(rows.features() + 1), next(rows.features() + 1);
    for (int round = 0; round < rounds; ++round) {
        std::fill(next.begin(), next.end(), 0.0);
        for (std::size_t i = 0; i < rows.size(); i += step) {
            rows.axpy(i, round == 0 ? 1.0 : rows.dot(i, direction.data()), next.data());
        }
        const double square = dense_dot(next.data(), next.data(), next.size());
        if (!(square > 0.0)) {
            break;
        }
        const double scale = 1.0 / std::sqrt(square);
        std::transform(next.begin(), next.end(), direction.begin(), [scale](double x) { return scale * x; });
    }
    along_.resize(rows.size());
    rows.with_view([&](const auto& view) {
        Chunks(rows.size(), rows.stored()).for_each(&team_, [&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                along_[i] = view.dot(i, direction.data());
            }
        });
    });
}

}  // namespace maxmargin
