//go:build cgo && linux

package native

import (
	"ridge/native/elementwise"
	"ridge/native/attention"
	"ridge/native/conv"
	"ridge/native/gemm"
	"ridge/native/kernel"
	"ridge/native/probe"
	"ridge/native/memory"
)

// families is the registry of kernel families: a new family adds one line.
func families() []kernel.Family {
	return []kernel.Family{
		gemm.Family(),
		probe.Family(),
		memory.Family(),
		elementwise.Family(),
		conv.Family(),
		attention.Family(),
	}
}
