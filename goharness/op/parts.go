package op

import (
	"runtime"
	"sync"
)

// partsFrom: what takes so many elements is worth a goroutine for each processor.
const partsFrom = 1 << 16

// InParts calls do for parts [from, to) of n, on all processors at once where n times so many elements each are worth that.
func InParts(n, each int64, do func(from, to int64)) {
	parts := int64(runtime.GOMAXPROCS(0))
	if n < 2*parts || n < partsFrom/max(1, each) {
		do(0, n)
		return
	}
	var wg sync.WaitGroup
	for p := range parts {
		wg.Add(1)
		go func() {
			defer wg.Done()
			do(n/parts*p+min(p, n%parts), n/parts*(p+1)+min(p+1, n%parts))
		}()
	}
	wg.Wait()
}
