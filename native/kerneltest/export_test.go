//go:build cgo && linux

package kerneltest

import "time"

// SetGuardTime sets how long a child may run, and returns what sets it back.
func SetGuardTime(d time.Duration) func() {
	old := guardTime
	guardTime = d
	return func() { guardTime = old }
}
