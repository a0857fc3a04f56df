// Sums that carry their own rounding error along (Ogita, Rump & Oishi 2005): as accurate as if they were computed with
// twice as many digits and rounded at the end. They are compiled without contraction of products and sums, which would
// undo it.
#pragma once

#include <cmath>

namespace maxmargin {

class TwofoldSum {
  public:
    void add(double x) {
        const double total = sum_ + x, added = total - sum_;
        error_ += (sum_ - (total - added)) + (x - added);
        sum_ = total;
    }
    void add_product(double a, double b) {
        const double product = a * b;
        error_ += std::fma(a, b, -product);
        add(product);
    }
    void add(const TwofoldSum& other) {
        add(other.sum_);
        error_ += other.error_;
    }
    void subtract(const TwofoldSum& other) {
        add(-other.sum_);
        error_ -= other.error_;
    }
    double value() const { return sum_ + error_; }
    // What is left of the exact sum beyond `value()`.
    double rest() const { return error_ - (value() - sum_); }

  private:
    double sum_ = 0.0, error_ = 0.0;
};

}  // namespace maxmargin
