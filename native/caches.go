//go:build cgo && linux

package native

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// sysCPU is where Linux describes the caches of each CPU (Documentation/ABI/stable/sysfs-devices-system-cpu).
const sysCPU = "/sys/devices/system/cpu"

// lastLevelBytes adds up the last-level caches that the CPUs reach, each cache once: the
// highest level of each CPU, told apart by the CPUs that share it. 0 when one is not described
// (many virtual machines and arm64 systems), because a part would be taken for the whole.
func lastLevelBytes(root string, cpus []int) int64 {
	seen := map[string]bool{}
	var total int64
	for _, cpu := range cpus {
		dirs, _ := filepath.Glob(filepath.Join(root, "cpu"+strconv.Itoa(cpu), "cache", "index*"))
		var level, size int64
		var shared string
		for _, d := range dirs {
			if l, err := strconv.ParseInt(line(d, "level"), 10, 64); err == nil && l > level {
				level, size, shared = l, cacheBytes(line(d, "size")), line(d, "shared_cpu_list")
			}
		}
		if level < 2 || size == 0 || shared == "" {
			return 0
		}
		if !seen[shared] {
			seen[shared] = true
			total += size
		}
	}
	return total
}

func line(dir, file string) string {
	b, _ := os.ReadFile(filepath.Join(dir, file))
	return strings.TrimSpace(string(b))
}

// cacheBytes reads "32768K" or "32M"; 0 when it is neither.
func cacheBytes(s string) int64 {
	for suffix, unit := range map[string]int64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			v, _ := strconv.ParseInt(n, 10, 64)
			return v * unit
		}
	}
	return 0
}
