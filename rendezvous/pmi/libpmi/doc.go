// Package libpmi holds a client of PMI-1 as a shared library, for MPI libraries
// that speak PMI through one that they open at run time. Open MPI 4 opens what
// FLUX_PMI_LIBRARY_PATH names, if FLUX_JOB_ID is set: its component flux of the
// framework pmix, made for the Flux resource manager.
//
// The library is C, in src, and is made for each architecture by go generate,
// which needs GCC's cross compilers. It takes its functions of libc from the
// process that opens it, and so depends on no version of any libc.
package libpmi

//go:generate sh src/build.sh amd64 libpmi_amd64.so
//go:generate sh src/build.sh arm64 libpmi_arm64.so
