package cuda

import (
	"ridge/cuda/kernel"
	"ridge/cuda/memory"
)

// families is the registry of kernel families: a new family adds one line.
func families() []kernel.Family {
	return []kernel.Family{
		memory.Family(),
	}
}

// Families lists the registry, for tests and listings that need no driver.
func Families() []kernel.Family { return families() }
