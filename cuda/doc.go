//go:build !(cuda && linux && cgo)

// Package cuda is the NVIDIA platform, in builds with the tag cuda (make cuda). Without it only
// the registry of kernels is here.
package cuda
