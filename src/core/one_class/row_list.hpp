// Rows of a one-class problem with their variables, and their scores at weights of reference: those of other weights
// w = c v + d, v the reference, are within |d| |x_i| of c times these, so that most rows are known to be on their side
// of the offset without another look at them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "numeric/simd.hpp"
#include "one_class/free_face.hpp"
#include "one_class/numbers_only.hpp"
#include "one_class/state.hpp"
#include "rows/rows.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

// Scores from one to another.
struct Range {
    double low = -infinity, high = infinity;
    bool holds(double score) const { return score >= low && score <= high; }
    bool is_all() const { return low == -infinity && high == infinity; }
};

template <RowSource Rows>
class RowList {
  public:
    // Every so many rows; those of weight zero take no part.
    // `increase` says whether the column indices of all rows do.
    RowList(const OneClassState& state, const Rows& rows, std::size_t stride, bool increase)
        : state_(state), rows_(rows), stride_(stride), increase_(increase), size_((rows.size() + stride - 1) / stride) {
        if (state.C.are_equal()) {
            total_ = static_cast<double>(size_) * state.C[0];
            return;
        }
        for (std::size_t i = 0; i < rows.size(); i += stride) {
            if (state.C[i] > 0.0) {
                list_.push_back(static_cast<RowIndex>(i));
                total_ += state.C[i];
            }
        }
        size_ = list_.size();
    }

    std::size_t size() const { return size_; }
    double total() const { return total_; }
    RowIndex row(std::size_t k) const { return list_.empty() ? static_cast<RowIndex>(stride_ * k) : list_[k]; }
    double C(std::size_t k) const { return state_.C[row(k)]; }
    double score(std::size_t k) const { return scores_[k]; }
    WorkingRow member(std::size_t k) const {
        return {row(k), static_cast<RowIndex>(k), alphas[k], C(k), scores_[k], static_cast<double>(lengths_[k])};
    }

    // Scores of all rows at `w`, which becomes their reference. The first time lengths are computed as well.
    void refer_to(const std::vector<double>& w) {
        references_.assign(1, w);
        reference_of_.assign(size(), 0);
        settled_w_.clear();
        scores_.resize(size());
        if (lengths_.empty()) {
            measure();
        } else {
            rows_.with_view([&](const auto& view) {
                for (std::size_t k = 0; k < size(); ++k) {
                    scores_[k] = view.dot(row(k), w.data());
                }
            });
        }
        double zero = 0.0;
        for (const double score : scores_) {
            zero += score - score;
        }
        require_numbers(zero);
    }
    // `w` becomes the reference of rows whose scores at it are known.
    void begin_reference(const std::vector<double>& w) { references_.push_back(w); }
    void set_score(std::size_t k, double score) {
        require_numbers(score - score);
        scores_[k] = score;
        reference_of_[k] = static_cast<unsigned char>(references_.size() - 1);
    }
    // body(place, score) of rows at `w`. They lie far apart, so that those to come are fetched ahead.
    template <class Body>
    void score(const std::vector<RowIndex>& places, const std::vector<double>& w, const Body& body) const {
        rows_.with_view([&](const auto& view) {
            for (std::size_t p = 0; p < places.size(); ++p) {
                if (p + 2 * rows_ahead < places.size()) {
                    view.prefetch_start(row(places[p + 2 * rows_ahead]));
                    view.prefetch(row(places[p + rows_ahead]));
                }
                const double score = view.dot(row(places[p]), w.data());
                require_numbers(score - score);
                body(places[p], score);
            }
        });
    }
    bool has_many_references() const { return references_.size() >= most_references; }

    // All rows with a score below that of `between` get their bound, those above zero. False, with nothing done, unless
    // the sum s is met between: those of the places there are in `places`, by rising score, and fill up to s. `near`
    // are the places with a score within the wider range `around`.
    bool fill(double s, Range between, Range around, std::vector<RowIndex>& places, std::vector<RowIndex>& near) {
        places.clear();
        near.clear();
        double below = 0.0, at = 0.0;
        with_bounds([&](const auto& bound) {
            for (std::size_t k = 0; k < size(); ++k) {
                below += scores_[k] < between.low ? bound(k) : 0.0;
                if (around.holds(scores_[k])) {
                    near.push_back(static_cast<RowIndex>(k));
                    if (between.holds(scores_[k])) {
                        places.push_back(static_cast<RowIndex>(k));
                        at += bound(k);
                    }
                }
            }
        });
        if ((below > s || below + at < s || places.empty()) && !between.is_all()) {
            return false;
        }
        std::sort(places.begin(), places.end(), [this](RowIndex a, RowIndex b) {
            return scores_[a] < scores_[b] || (scores_[a] == scores_[b] && a < b);
        });
        alphas.resize(size());
        with_bounds([&](const auto& bound) {
            for (std::size_t k = 0; k < size(); ++k) {
                alphas[k] = scores_[k] < between.low ? bound(k) : 0.0;
            }
        });
        quantile_ = places.size() - 1;
        for (std::size_t p = 0; p < places.size() && below < s; ++p) {
            alphas[places[p]] = std::min(C(places[p]), s - below);
            below += C(places[p]);
            quantile_ = p;
        }
        return true;
    }
    // The place in `places` up to which rows were filled.
    std::size_t quantile() const { return quantile_; }

    // The sum of a_i x_i.
    void sum_rows(std::vector<double>& w) const {
        std::fill(w.begin(), w.end(), 0.0);
        rows_.with_view([&](const auto& view) {
            for (std::size_t k = 0; k < size(); ++k) {
                if (alphas[k] != 0.0) {
                    view.axpy(row(k), alphas[k], w.data());
                }
            }
        });
    }

    // Scores at `w`, as the references let expect.
    std::vector<double> estimates(const std::vector<double>& w) const {
        std::vector<Ball> balls;
        for (const std::vector<double>& reference : references_) {
            balls.push_back(ball_around(reference, w));
        }
        std::vector<double> values(size());
        double zero = 0.0;
        for (std::size_t k = 0; k < size(); ++k) {
            values[k] = balls[reference_of_[k]].factor * scores_[k];
            zero += values[k] - values[k];
        }
        require_numbers(zero);
        return values;
    }

    // The places of all rows that are not marked and not proved to be on the side of `rho` that their variable says.
    void find_unproved(const std::vector<double>& w, double rho, const std::vector<unsigned char>& marks,
                       std::vector<RowIndex>& places) {
        std::vector<Ball> balls;
        for (const std::vector<double>& reference : references_) {
            balls.push_back(ball_around(reference, w));
        }
        if (!is_settled(w, rho)) {
            settle(w, rho, balls);
        }
        places.clear();
        for (const RowIndex k : unsettled_) {
            const Ball& ball = balls[reference_of_[k]];
            if (!marks[k] && !(inside(k, C(k), ball, rho) >= ball.radius * static_cast<double>(lengths_[k]))) {
                places.push_back(k);
            }
        }
    }

    std::vector<double> alphas;

  private:
    // body(bound), with bound(k) the weight C of the row at a place, a constant where it is one.
    template <class Body>
    void with_bounds(const Body& body) const {
        if (state_.C.are_equal()) {
            const double all = state_.C[0];
            body([all](std::size_t) { return all; });
        } else {
            body([this](std::size_t k) { return C(k); });
        }
    }

    static constexpr std::size_t most_references = 64, rows_ahead = 8;
    static constexpr double moves_to_come = 0.5;  // of the weights, beside the distance from their reference

    // w = factor * reference + d with |d| at most the radius.
    struct Ball {
        double factor, radius;
    };
    static Ball ball_around(const std::vector<double>& reference, const std::vector<double>& w) {
        const std::size_t n = w.size();
        const double square = dense_dot(reference.data(), reference.data(), n);
        const double factor = square > 0.0 ? dense_dot(w.data(), reference.data(), n) / square : 0.0;
        double rest = 0.0;
        for (std::size_t j = 0; j < n; ++j) {
            const double d = w[j] - factor * reference[j];
            rest += d * d;
        }
        const double sizes = std::sqrt(dense_dot(w.data(), w.data(), n)) + std::abs(factor) * std::sqrt(square);
        return {factor, std::sqrt(rest) + 64.0 * std::numeric_limits<double>::epsilon() * sizes};
    }

    // How far the score at the centre of the ball is on the side that the variable says.
    double inside(std::size_t k, double bound, const Ball& ball, double rho) const {
        const double above = ball.factor * scores_[k] - rho;
        return alphas[k] == 0.0 ? above : alphas[k] == bound ? -above : -infinity;
    }

    // Sets rows aside that stay on their side as long as the weights and the offset move by no more than `move_` and
    // `shift_`.
    void settle(const std::vector<double>& w, double rho, const std::vector<Ball>& balls) {
        settled_w_ = w;
        settled_rho_ = rho;
        move_ = 0.0;
        for (const Ball& ball : balls) {
            move_ = std::max(move_, moves_to_come * ball.radius);
        }
        shift_ = move_ * mean_length_;
        unsettled_.clear();
        with_bounds([&](const auto& bound) {
            for (std::size_t k = 0; k < size(); ++k) {
                const Ball& ball = balls[reference_of_[k]];
                const double reach = (ball.radius + move_) * static_cast<double>(lengths_[k]) + shift_;
                if (!(inside(k, bound(k), ball, rho) >= reach)) {
                    unsettled_.push_back(static_cast<RowIndex>(k));
                }
            }
        });
    }
    bool is_settled(const std::vector<double>& w, double rho) const {
        double square = 0.0;
        for (std::size_t j = 0; j < settled_w_.size(); ++j) {
            square += (w[j] - settled_w_[j]) * (w[j] - settled_w_[j]);
        }
        return !settled_w_.empty() && std::sqrt(square) <= move_ && std::abs(rho - settled_rho_) <= shift_;
    }

    // Scores and lengths in one pass, a few rows at a time, so that their values are read from memory once.
    void measure() {
        constexpr std::size_t few = 64;
        double squares[few];
        lengths_.resize(size());
        bool ordinary = increase_;
        double sum = 0.0;
        rows_.with_view([&](const auto& view) {
            const double* w = references_[0].data();
            for (std::size_t first = 0; first < size(); first += few) {
                const std::size_t count = std::min(few, size() - first);
                for (std::size_t k = 0; k < count; ++k) {
                    scores_[first + k] = view.dot(row(first + k), w);
                }
                if (list_.empty()) {
                    view.squared_norms(row(first), stride_, count, squares);
                } else {
                    for (std::size_t k = 0; k < count; ++k) {
                        view.squared_norms(row(first + k), 1, 1, squares + k);
                    }
                }
                for (std::size_t k = 0; k < count; ++k) {
                    ordinary &= squares[k] <= largest_squared_norm;
                    lengths_[first + k] = round_up(squares[k]);
                    sum += static_cast<double>(lengths_[first + k]);
                }
            }
        });
        if (!ordinary) {
            const std::vector<double>& exact = state_.rows().squared_norms();  // throws unless they are numbers
            sum = 0.0;
            for (std::size_t k = 0; k < size(); ++k) {
                lengths_[k] = round_up(exact[row(k)]);
                sum += static_cast<double>(lengths_[k]);
            }
        }
        mean_length_ = sum / static_cast<double>(size());
    }
    static float round_up(double square) {
        return std::max(static_cast<float>(std::sqrt(square) * (1.0 + 1e-6)), std::numeric_limits<float>::min());
    }

    const OneClassState& state_;
    const Rows& rows_;
    std::size_t stride_;
    bool increase_;
    std::size_t size_;
    std::vector<RowIndex> list_;  // empty where all rows have the same weight
    double total_ = 0.0;
    std::vector<std::vector<double>> references_;
    std::vector<unsigned char> reference_of_;
    std::vector<double> scores_;
    std::vector<float> lengths_;
    double mean_length_ = 0.0;
    std::size_t quantile_ = 0;
    std::vector<RowIndex> unsettled_;
    std::vector<double> settled_w_;
    double settled_rho_ = 0.0, move_ = 0.0, shift_ = 0.0;
};

}  // namespace maxmargin
