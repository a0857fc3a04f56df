#include "cutting_plane.hpp"

#include "solvers.hpp"

namespace maxmargin {

Outcome cut(const AnyRows& rows, double bias, Risk& risk, const CuttingOptions& options, const CutStart& start,
            Monitor& monitor, CutResult& result) {
    rows.squared_norms();  // finds NaN and infinity
    return CuttingPlane(rows, bias, risk, monitor, options).run(start, result);
}

}  // namespace maxmargin
