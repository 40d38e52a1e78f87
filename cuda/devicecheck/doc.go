// Package devicecheck tests scripts/device-check.sh, the check of ridge on a machine with a GPU, where there is none: with
// the tests' driver, a stand-in for torch and one for compute-sanitizer.
package devicecheck
