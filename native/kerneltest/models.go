//go:build cgo && linux && !nomodels

package kerneltest

// models reports whether the portable models of variants are compiled in: the tag nomodels leaves them out where the second
// compiler or another machine's instructions are what is tested.
const models = true
