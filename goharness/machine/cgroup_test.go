package machine

import (
	"strings"
	"testing"
)

// cgroupV2 is a root whose process is in /a/b of the unified hierarchy, with these files below its mount.
func cgroupV2(t *testing.T, files map[string]string) Source {
	t.Helper()
	root := t.TempDir()
	put(t, root, "/proc/self/cgroup", "0::/a/b\n")
	put(t, root, "/proc/self/mountinfo", "30 1 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n")
	put(t, root, "/proc/meminfo", "MemAvailable: 8388608 kB\n")
	for name, content := range files {
		put(t, root, "/sys/fs/cgroup"+name, content)
	}
	return Source{Root: root, OS: "linux"}
}

func TestQuotasOfTheUnifiedHierarchy(t *testing.T) {
	for text, want := range map[string]float64{ // 0: none
		"150000 100000": 1.5, "50000": 0.5, "50000 100000": 0.5, "1000 1000000": 0.001, "max 100000": 0, "max": 0, "": 0, "0 100000": 0, "-1 100000": 0, "1e5 0": 0, "two 100000": 0,
	} {
		q, _, ok, why := cpuQuota(cgroupV2(t, map[string]string{"/a/b/cpu.max": text}))
		if ok != (want > 0) || ok && q != want || !ok && why == "" {
			t.Errorf("cpu.max %q: %g %v %q, want %g", text, q, ok, why, want)
		}
	}
}

func TestTheRoomIsTheSmallestBelowAnyLimit(t *testing.T) {
	const inner, outer = "/a/b/memory.", "/a/memory."
	for _, c := range []struct {
		name        string
		files       map[string]string
		limit, room int64 // 0: no limit
	}{
		{"no limit", map[string]string{inner + "max": "max", outer + "max": "max"}, 0, 0},
		{"the inner room is the smaller one", map[string]string{inner + "max": "1000", inner + "current": "900", outer + "max": "5000", outer + "current": "1000"}, 1000, 100},
		{"the outer room is, under the looser limit", map[string]string{inner + "max": "1000", inner + "current": "100", outer + "max": "5000", outer + "current": "4950"}, 1000, 50},
		{"page cache that can be dropped is room", map[string]string{inner + "max": "1000", inner + "current": "900", inner + "stat": "anon 300\ninactive_file 600\n"}, 1000, 700},
		{"more use than the limit", map[string]string{inner + "max": "1000", inner + "current": "1200"}, 1000, 0},
		{"use is not told", map[string]string{inner + "max": "1000"}, 1000, 1000},
	} {
		limit, room, _, found, _ := memoryRoom(cgroupV2(t, c.files))
		if found != (c.limit > 0) || limit != c.limit || room != c.room {
			t.Errorf("%s: limit %d, room %d, %v; want %d and %d", c.name, limit, room, found, c.limit, c.room)
		}
	}
}

// A container may see its cgroup's path as the host writes it, or one beside what is mounted for it.
func TestFoldersOfACgroupLieBelowItsMount(t *testing.T) {
	for _, c := range []struct{ root, cgroup, want string }{
		{"/", "/a/b", "/m/a/b /m/a /m"},
		{"/", "/", "/m"},
		{"/docker/x", "/docker/x/in", "/m/in /m"},
		{"/docker/x", "/docker/x", "/m"},
		{"/docker/x", "/docker/xy", "/m"},
		{"/docker/x", "/system.slice/sshd", "/m"},
		{"/..", "/", "/m"},
	} {
		if got := strings.Join(climb(cgroupMount{root: c.root, point: "/m"}, c.cgroup), " "); got != c.want {
			t.Errorf("%s of a mount of %s: %s, want %s", c.cgroup, c.root, got, c.want)
		}
	}
}
