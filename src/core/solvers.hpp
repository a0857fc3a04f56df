// The compiled doors to the solver templates, for rows of any type: what bindings.cpp calls.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "any_rows.hpp"
#include "certificate.hpp"
#include "loss.hpp"
#include "monitor.hpp"
#include "multiclass_problem.hpp"
#include "problem.hpp"
#include "risk.hpp"

namespace maxmargin {

enum class OrderName { permuted, uniform, adaptive };

struct Options {
    OrderName order;
    bool shrinking;
    double tol;
    std::int64_t max_iter;
    double max_passes;  // work allowed, in passes over the data; ends with Exit::budget
    std::uint64_t seed;
    double worth = infinity;  // ends with Exit::budget, too, when at its pace it would need more passes than this
};

struct Outcome {
    Certificate certificate;
    std::int64_t epochs = 0;
    Exit exit = Exit::converged;
    double check_seconds = 0.0;  // spent on certificates
};

// Starts from the alphas in `variables` and leaves the best ones there, with the weights that belong to them in `w`.
Outcome descend(const AnyRows& rows, std::span<Variable> variables, const Loss& loss, Bias bias, const Options& options,
                Monitor& monitor, std::vector<double>& w);

// Newton's method in the primal, from the weights of the alphas in `variables`; leaves there what `descend` leaves.
Outcome newton(const AnyRows& rows, std::span<Variable> variables, const Loss& loss, Bias bias, double tol,
               std::int64_t max_iter, Monitor& monitor, std::vector<double>& w);

struct PrimalOptions {
    double tol;
    std::int64_t max_iter;
    std::uint64_t seed;
    bool averaging;   // of Pegasos
    bool projection;  // of Pegasos
};

// The rivals in the primal: coordinate descent for losses with a curvature, and Pegasos for the hinge and a regularised
// bias. They start from the alphas in `variables` and leave the best ones there, with the weights that belong to them.
Outcome primal_coordinate_descent(const AnyRows& rows, std::span<Variable> variables, const Loss& loss, Bias bias,
                                  const PrimalOptions& options, Monitor& monitor, std::vector<double>& w);
Outcome pegasos(const AnyRows& rows, std::span<Variable> variables, const Loss& loss, Bias bias,
                const PrimalOptions& options, Monitor& monitor, std::vector<double>& w);

// The exact values of given alphas, with w built from them. With a free bias the alphas are first moved onto its
// condition.
Certificate certify(const AnyRows& rows, std::span<Variable> variables, const Loss& loss, Bias bias,
                    std::vector<double>& w);

struct CuttingOptions {
    double tol;
    std::int64_t max_iter;
    bool accelerated;
};

// What is known of a solution before the start; all of it may be empty.
struct CutStart {
    std::span<const double> points;        // weights, the bias last, one point after the other: cuts are made there
    std::span<const double> coefficients;  // of a mixture of cuts, one per row
    double offset = 0.0;                   // of that mixture
};

struct CutResult {
    std::vector<double> weights;
    std::vector<double> coefficients;  // dual variables with their signs: weights = sum_i coefficients_i x_i
    std::vector<double> points;        // where the cuts in use touch the risk, one after the other
};

// Cutting planes for 1/2 |w|^2 + risk.
Outcome cut(const AnyRows& rows, double bias, Risk& risk, const CuttingOptions& options, const CutStart& start,
            Monitor& monitor, CutResult& result);

// A multi-class problem; see multiclass_problem.hpp for how weights and variables lie.
struct Multiclass {
    Formulation formulation;
    std::size_t classes;
    double bias;
};

// The sequential dual method, and for Crammer-Singer exponentiated gradient. They start from the variables and leave
// the best ones there, with the weights that belong to them in `w`.
Outcome sequential_dual_method(const AnyRows& rows, MulticlassVariables& variables, const Multiclass& problem,
                               const Options& options, Monitor& monitor, std::vector<double>& w);
Outcome exponentiated_gradient(const AnyRows& rows, MulticlassVariables& variables, const Multiclass& problem,
                               const Options& options, Monitor& monitor, std::vector<double>& w);

// Newton's method, for few weights in all; if it cannot go on it ends with Exit::budget.
Outcome multiclass_newton(const AnyRows& rows, MulticlassVariables& variables, const Multiclass& problem,
                          const Options& options, Monitor& monitor, std::vector<double>& w);

// The exact values of given variables, with w built from them.
Certificate certify(const AnyRows& rows, MulticlassVariables& variables, const Multiclass& problem,
                    std::vector<double>& w);

// scores[i * classes + k] = w_k . x_i + intercept_k, with the w_k one after the other in `weights`.
void score(const AnyRows& rows, const double* weights, const double* intercepts, std::size_t classes, double* scores);

}  // namespace maxmargin
