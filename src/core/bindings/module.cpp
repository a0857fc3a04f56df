// The extension module: arrays in, arrays out. Files in this folder, one for each family of problems, are the only ones
// that know of Python objects.
#include "bindings/arrays.hpp"

NB_MODULE(_core, m) {
    using namespace maxmargin;
    bind_rows(m);
    bind_run(m);
    bind_ranking(m);
    bind_binary(m);
    bind_l1(m);
    bind_measure(m);
    bind_one_class(m);
    bind_multiclass(m);
    bind_text(m);
}
