package cuda

import (
	"ridge/cuda/elementwise"
	"ridge/cuda/gemm"
	"ridge/cuda/kernel"
	"ridge/cuda/memory"
	"ridge/cuda/reduction"
)

// families is the registry of kernel families: a new family adds one line.
func families() []kernel.Family {
	return []kernel.Family{
		elementwise.Family(),
		gemm.Family(),
		memory.Family(),
		reduction.Family(),
	}
}

// Families lists the registry, for tests and listings that need no driver.
func Families() []kernel.Family { return families() }
