package op

import (
	"slices"
	"sync"
	"testing"
)

func TestPartsHaveEveryIndexOnce(t *testing.T) {
	for _, c := range [][2]int64{{0, 1}, {1, 1}, {3, 1 << 20}, {7, 1 << 20}, {1000, 0}, {65537, 1}, {200003, 3}} {
		var mu sync.Mutex
		seen := make([]int, c[0])
		InParts(c[0], c[1], func(from, to int64) {
			mu.Lock()
			defer mu.Unlock()
			for i := from; i < to; i++ {
				seen[i]++
			}
		})
		if i := slices.IndexFunc(seen, func(n int) bool { return n != 1 }); i >= 0 {
			t.Errorf("%d of %d elements: index %d is in %d parts", c[0], c[1], i, seen[i])
		}
	}
}
