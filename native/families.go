//go:build cgo && linux

package native

import (
	"ridge/native/elementwise"
	"ridge/native/gemm"
	"ridge/native/kernel"
	"ridge/native/reduction"
)

// families is the registry of kernel families: a new family adds one line.
func families() []kernel.Family {
	return []kernel.Family{
		gemm.Family(),
		elementwise.Family(),
		reduction.Family(),
	}
}
