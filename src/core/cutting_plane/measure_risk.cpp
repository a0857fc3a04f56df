#include "cutting_plane/measure_risk.hpp"

#include <algorithm>

namespace maxmargin {

double MeasureRisk::touch(const double* scores, double* coefficients) {
    std::fill_n(coefficients, rows_.size(), 0.0);
    // Ties keep the order of the rows, so that the same scores give the same cut.
    std::sort(positives_.begin(), positives_.end(),
              [scores](RowIndex a, RowIndex b) { return scores[a] != scores[b] ? scores[a] < scores[b] : a < b; });
    std::sort(negatives_.begin(), negatives_.end(),
              [scores](RowIndex a, RowIndex b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
    if (measure_ == Measure::roc_area) {
        return touch_pairs(scores, coefficients);
    }
    const Table best = measure_ == Measure::error_rate ? best_error(scores)
                       : measure_ == Measure::f1       ? best_f1(scores)
                                                       : best_at_k(scores);
    for (std::size_t p = 0; p < best.c; ++p) {
        coefficients[positives_[p]] = C_;
    }
    for (std::size_t q = 0; q < best.b; ++q) {
        coefficients[negatives_[q]] = -C_;
    }
    return C_ * n_ * delta(best.b, best.c);
}

MeasureRisk::Table MeasureRisk::best_error(const double* scores) const {
    Table best;
    while (best.c < positives_.size() && scores[positives_[best.c]] < 1.0) {
        ++best.c;
    }
    while (best.b < negatives_.size() && scores[negatives_[best.b]] > -1.0) {
        ++best.b;
    }
    return best;
}

MeasureRisk::Table MeasureRisk::best_f1(const double* scores) const {
    const std::size_t P = positives_.size();
    double flipped = 0.0;  // A(c)
    for (const RowIndex p : positives_) {
        flipped -= scores[p];
    }
    Table best;
    double highest = 0.0, above = 0.0;  // of the true labels; B(b)
    std::size_t b = 0;
    for (std::size_t a = 0; a <= P; ++a) {
        const std::size_t c = P - a;
        if (a > 0) {
            flipped += scores[positives_[c]];
        }
        while (b < negatives_.size() && n_ * (delta(b + 1, c) - delta(b, c)) + scores[negatives_[b]] > 0.0) {
            above += scores[negatives_[b]];
            ++b;
        }
        const double value = n_ * delta(b, c) + flipped + above;
        if (value > highest) {
            highest = value;
            best = {b, c};
        }
    }
    return best;
}

MeasureRisk::Table MeasureRisk::best_at_k(const double* scores) const {
    const std::size_t P = positives_.size(), N = negatives_.size();
    // k = P - c + b, so that c is at least P - k and at most P - k + N.
    const std::size_t first = P > k_ ? P - k_ : 0, last = std::min(P, P + N - k_);
    double value = 0.0;
    std::size_t b = k_ + first - P;
    for (std::size_t p = 0; p < first; ++p) {
        value -= scores[positives_[p]];
    }
    for (std::size_t q = 0; q < b; ++q) {
        value += scores[negatives_[q]];
    }
    Table best;
    double highest = 0.0;  // of the true labels
    for (std::size_t c = first; c <= last; ++c, ++b) {
        if (n_ * delta(b, c) + value > highest) {
            highest = n_ * delta(b, c) + value;
            best = {b, c};
        }
        if (c < last) {
            value += scores[negatives_[b]] - scores[positives_[c]];
        }
    }
    return best;
}

double MeasureRisk::touch_pairs(const double* scores, double* coefficients) const {
    const double share = C_ * n_ / (static_cast<double>(positives_.size()) * static_cast<double>(negatives_.size()));
    double pairs = 0.0;
    // Positives from the lowest on, so that ever fewer negatives are within reach.
    std::size_t within = negatives_.size();
    std::vector<double> lost(negatives_.size() + 1);
    for (const RowIndex p : positives_) {
        while (within > 0 && !(scores[negatives_[within - 1]] > scores[p] - 1.0)) {
            --within;
        }
        coefficients[p] = share * static_cast<double>(within);
        pairs += static_cast<double>(within);
        lost[within] += 1.0;
    }
    double reaching = 0.0;
    for (std::size_t q = negatives_.size(); q-- > 0;) {
        reaching += lost[q + 1];
        coefficients[negatives_[q]] = -share * reaching;
    }
    return share * pairs;
}

}  // namespace maxmargin
