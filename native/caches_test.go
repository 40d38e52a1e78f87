//go:build cgo && linux

package native

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLastLevelBytesCountsEachCacheOnce(t *testing.T) {
	root := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		p := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// CPUs 0 and 1 share one L3, CPU 2 has another; CPU 3 is not described, 4 without a size.
	for cpu, l3 := range map[string]string{"cpu0": "0-1", "cpu1": "0-1", "cpu2": "2"} {
		put(cpu+"/cache/index0/level", "1")
		put(cpu+"/cache/index0/size", "32K")
		put(cpu+"/cache/index0/shared_cpu_list", cpu[3:])
		put(cpu+"/cache/index3/level", "3")
		put(cpu+"/cache/index3/size", "98304K")
		put(cpu+"/cache/index3/shared_cpu_list", l3)
	}
	put("cpu4/cache/index2/level", "2")
	put("cpu4/cache/index2/shared_cpu_list", "4")
	for _, c := range []struct {
		cpus []int
		want int64
	}{{[]int{0}, 96 << 20}, {[]int{0, 1}, 96 << 20}, {[]int{0, 1, 2}, 192 << 20}, {[]int{0, 3}, 0}, {[]int{4}, 0}, {nil, 0}} {
		if got := lastLevelBytes(root, c.cpus); got != c.want {
			t.Errorf("CPUs %v: %d bytes, want %d", c.cpus, got, c.want)
		}
	}
	for s, want := range map[string]int64{"512K": 512 << 10, "32M": 32 << 20, "1G": 1 << 30, "": 0, "12": 0, "xK": 0} {
		if got := cacheBytes(s); got != want {
			t.Errorf("cacheBytes(%q) = %d, want %d", s, got, want)
		}
	}
}
