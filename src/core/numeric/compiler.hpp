// Functions compiled for several instruction sets, of which the loader picks one at run time.
#pragma once

#include <cstdlib>  // defines __GLIBC__ where that is the C library

// Sanitizers and C libraries without ifunc support build the plain version only.
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && !defined(MAXMARGIN_SANITIZE)
#define MAXMARGIN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// For loops over blocks of four doubles, to which wider registers are of no use.
#define MAXMARGIN_BLOCK_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define MAXMARGIN_CLONES
#define MAXMARGIN_BLOCK_CLONES
#endif
