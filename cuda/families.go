package cuda

import (
	"ridge/cuda/attention"
	"ridge/cuda/conv"
	"ridge/cuda/elementwise"
	"ridge/cuda/gemm"
	"ridge/cuda/kernel"
	"ridge/cuda/memory"
	"ridge/cuda/probe"
	"ridge/cuda/reduction"
	"ridge/cuda/vendor"
)

// families is the registry of kernel families: a new family adds one line.
func families() []kernel.Family {
	return []kernel.Family{
		attention.Family(),
		conv.Family(),
		elementwise.Family(),
		gemm.Family(),
		memory.Family(),
		probe.Family(),
		reduction.Family(),
		vendor.Family(),
	}
}

// Families lists the registry, for tests and listings that need no driver.
func Families() []kernel.Family { return families() }
