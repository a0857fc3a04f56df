// Pegasos (Shalev-Shwartz, Singer & Srebro 2007): stochastic subgradient steps of length 1 / (lambda t), lambda =
// 1 / sum C_i, each followed by a projection onto the ball that holds the optimum, |w|^2 <= 1 / lambda.
//
// A step is w <- (1 - 1/t) w + (n C_i / t) sign_i x_i if row i violates its margin, so w is a sum over rows, and the
// coefficients, cut off at C_i, are dual variables: they give the certificate. Rows are drawn without replacement,
// since by chance alone a row that always violates its margin would else be far from C_i for long. Weights and
// coefficients are kept as a scale times a sum, and so a step costs one row. The average runs over the iterates since
// the last power of two of epochs: with S the sum of the scales since then, sum_t s_t v_t = S v -
// sum_t S_(t-1) (change of v at t).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "binary/certificate.hpp"
#include "binary/methods.hpp"
#include "run/random.hpp"
#include "run/reached.hpp"

namespace maxmargin {
namespace {

template <RowSource Rows>
class Pegasos {
  public:
    Pegasos(BinaryState& state, BinaryProblem<Rows> problem, const PegasosOptions& options, const Limits& limits,
            Monitor& monitor)
        : state_(state),
          problem_(problem),
          options_(options),
          limits_(limits),
          monitor_(monitor),
          random_(limits.seed),
          candidates_(rows_taking_part(problem.variables)),
          share_(problem.size()),
          late_share_(options.averaging ? problem.size() : 0) {
        for (const RowIndex i : candidates_) {
            total_C_ += problem.variables[i].C();
        }
    }

    Outcome run() {
        monitor_.expect_check(check_passes * static_cast<double>(problem_.rows.stored()));
        start();
        const double count = static_cast<double>(candidates_.size());
        for (std::int64_t epoch = 1;; ++epoch) {
            random_.shuffle(std::span(candidates_));
            for (const RowIndex i : candidates_) {
                if (monitor_.poll(step(i, count))) {
                    break;
                }
            }
            const bool last = monitor_.look() || epoch >= limits_.max_iter;
            const bool power = (epoch & (epoch - 1)) == 0;
            const auto passes = static_cast<double>(epoch);
            if (last || power || epoch % epochs_between_checks == 0 || monitor_.report_due(passes)) {
                offer();
                const bool converged = reached(state_, limits_.tol, monitor_);
                monitor_.report(epoch, passes, candidates_.size(), state_.bounds);
                if (converged || last || monitor_.ended()) {
                    return {converged ? Exit::converged : monitor_.ended() ? monitor_.exit() : Exit::max_iter, epoch};
                }
            }
            if (power) {
                average_from_ = t_;
                scales_ = 0.0;
                std::fill(late_share_.begin(), late_share_.end(), 0.0);
            }
        }
    }

  private:
    static constexpr std::int64_t epochs_between_checks = 16;
    static constexpr double check_passes = 4.0;  // slacks twice, and a sum of rows
    static constexpr double smallest_scale = 1e-100;

    // The iterate, or its average, and the variables that stand for it: cut off at their bounds, and so with other
    // weights, which are offered too.
    void offer() {
        const Monitor::Checking checking(monitor_);
        if (!options_.averaging) {
            weights_.assign(sum_.size(), 0.0);
            dense_axpy(scale_, sum_.data(), weights_.data(), sum_.size());
            state_.bounds.offer_weights(primal_value(problem_, weights_), weights_);
        }
        read_alphas();
        state_.offer_variables(dual_value(problem_, weights_), problem_);
        state_.bounds.offer_weights(primal_value(problem_, weights_), weights_);
    }

    // Known variables count as the sum after one epoch.
    void start() {
        problem_.assign(state_.bounds.variables());
        bool warm = false;
        for (const RowIndex i : candidates_) {
            share_[i] = problem_.variables[i].alpha;
            warm = warm || share_[i] != 0.0;
        }
        problem_.sum_rows(sum_);
        squared_norm_ = problem_.regulariser().dot(sum_, sum_);
        t_ = warm ? static_cast<double>(candidates_.size()) : 0.0;
    }

    std::size_t step(std::size_t i, double count) {
        const Variable& v = problem_.variables[i];
        t_ += 1.0;
        const double margin = scale_ * problem_.margin(i, sum_.data());
        if (t_ > 1.0) {
            scale_ *= 1.0 - 1.0 / t_;
            squared_norm_ *= (1.0 - 1.0 / t_) * (1.0 - 1.0 / t_);
        }
        if (margin < v.target) {
            const double a = count * v.C() / t_, before = margin * (1.0 - 1.0 / t_);
            squared_norm_ += a * (2.0 * before + a * (v.curvature + problem_.bias.value * problem_.bias.value));
            problem_.add_row(i, a / scale_ * v.sign(), sum_.data());
            share_[i] += a / scale_;
            if (options_.averaging) {
                late_share_[i] += scales_ * (a / scale_);
            }
        }
        if (options_.projection && squared_norm_ > total_C_) {
            scale_ *= std::sqrt(total_C_ / squared_norm_);
            squared_norm_ = total_C_;
        }
        scales_ += scale_;
        if (scale_ < smallest_scale) {
            rescale();
        }
        return 2 * problem_.rows.stored(i);
    }

    void rescale() {
        for (double& value : sum_) {
            value *= scale_;
        }
        for (double& value : share_) {
            value *= scale_;
        }
        scales_ /= scale_;
        scale_ = 1.0;
    }

    void read_alphas() {
        for (const RowIndex i : candidates_) {
            Variable& v = problem_.variables[i];
            const double average =
                options_.averaging ? (scales_ * share_[i] - late_share_[i]) / (t_ - average_from_) : 0.0;
            v.alpha = clip(options_.averaging ? average : scale_ * share_[i], 0.0, v.C());
        }
        squared_norm_ =
            scale_ * scale_ * problem_.regulariser().dot(sum_, sum_);  // without the rounding errors of many steps
    }

    BinaryState& state_;
    BinaryProblem<Rows> problem_;
    const PegasosOptions& options_;
    const Limits& limits_;
    Monitor& monitor_;
    Random random_;
    std::vector<RowIndex> candidates_;
    double total_C_ = 0.0;
    double t_ = 0.0;
    double scale_ = 1.0;
    double scales_ = 0.0;        // sum of the scales since the average began
    double average_from_ = 0.0;  // step
    double squared_norm_ = 0.0;
    std::vector<double> sum_;  // v: the weights over the scale
    std::vector<double> weights_;
    std::vector<double> share_;       // the coefficients over the scale
    std::vector<double> late_share_;  // sum of S_(t-1) times their changes
};

}  // namespace

Outcome pegasos(BinaryState& state, const PegasosOptions& options, const Limits& limits, Monitor& monitor) {
    return state.visit([&]<class Rows>(const BinaryProblem<Rows>& problem) {
        return Pegasos<Rows>(state, problem, options, limits, monitor).run();
    });
}

}  // namespace maxmargin
