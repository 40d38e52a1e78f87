//go:build cgo && linux

package native

import (
	"ridge/native/attention"
	"ridge/native/conv"
	"ridge/native/elementwise"
	"ridge/native/gemm"
	"ridge/native/kernel"
	"ridge/native/memory"
	"ridge/native/probe"
	"ridge/native/reduction"
)

// families is the registry of kernel families: a new family adds one line.
func families() []kernel.Family {
	return []kernel.Family{
		gemm.Family(),
		conv.Family(),
		attention.Family(),
		elementwise.Family(),
		reduction.Family(),
		memory.Family(),
		probe.Family(),
	}
}
