#pragma once

#include <nanobind/nanobind.h>

namespace maxmargin {

// Adds the readers and writers of text to the module.
void bind_text(nanobind::module_& m);

}  // namespace maxmargin
