package machine

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
)

// cgroupMount is one mounted hierarchy as this process sees it.
type cgroupMount struct {
	v2          bool
	controllers []string // v1 only
	root        string   // which cgroup is mounted there
	point       string   // where
}

// cgroupMounts reads /proc/self/mountinfo.
func cgroupMounts(src Source) ([]cgroupMount, error) {
	text, err := src.read("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var out []cgroupMount
	for _, line := range strings.Split(text, "\n") {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		m := cgroupMount{root: l[3], point: l[4]}
		switch r[0] {
		case "cgroup2":
			m.v2 = true
		case "cgroup":
			m.controllers = strings.Split(r[2], ",")
		default:
			continue
		}
		out = append(out, m)
	}
	return out, nil
}

// cgroupPaths reads /proc/self/cgroup: controller name to path; "" is the v2 hierarchy.
func cgroupPaths(src Source) (map[string]string, error) {
	text, err := src.read("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, c := range strings.Split(parts[1], ",") {
			out[c] = parts[2]
		}
	}
	return out, nil
}

// cgroupDirs lists the folders of this process's cgroup for one controller, innermost
// first, up to the root this process can see. Limits nest: each folder may hold one.
func cgroupDirs(src Source, controller string) (dirs []string, v2 bool, err error) {
	mounts, err := cgroupMounts(src)
	if err != nil {
		return nil, false, err
	}
	paths, err := cgroupPaths(src)
	if err != nil {
		return nil, false, err
	}
	for _, m := range mounts {
		if m.v2 {
			continue
		}
		for _, c := range m.controllers {
			if c == controller {
				return climb(m, paths[controller]), false, nil
			}
		}
	}
	for _, m := range mounts {
		if m.v2 {
			return climb(m, paths[""]), true, nil
		}
	}
	return nil, false, fmt.Errorf("no cgroup hierarchy with the %s controller is mounted", controller)
}

// climb gives the folders from the cgroup up to the mount point. Inside a container
// without its own cgroup namespace the path starts with the mount's root, which is cut
// off; a path outside the mount (it begins with /..) leaves the mount point alone.
func climb(m cgroupMount, cg string) []string {
	rel := cg
	if m.root != "/" {
		if cut, ok := strings.CutPrefix(cg, m.root); ok && (cut == "" || cut[0] == '/') {
			rel = cut
		} else {
			rel = "/"
		}
	}
	rel = path.Clean("/" + rel)
	var dirs []string
	for {
		dirs = append(dirs, path.Join(m.point, rel))
		if rel == "/" {
			return dirs
		}
		rel = path.Dir(rel)
	}
}

// cpuQuota is the tightest CPU quota on the way to the root, in CPUs.
// found is false with a reason when no quota is set.
func cpuQuota(src Source) (cpus float64, where string, found bool, reason string) {
	dirs, v2, err := cgroupDirs(src, "cpu")
	if err != nil {
		return 0, "", false, err.Error()
	}
	best := math.Inf(1)
	for _, d := range dirs {
		var q float64
		var ok bool
		if v2 {
			q, ok = quotaV2(src, d)
		} else {
			q, ok = quotaV1(src, d)
		}
		if ok && q < best {
			best, where = q, d
		}
	}
	if math.IsInf(best, 1) {
		return 0, "", false, "no CPU quota is set"
	}
	return best, where, true, ""
}

// quotaV2 reads cpu.max: "max 100000" or "150000 100000" (quota and period in µs).
func quotaV2(src Source, dir string) (float64, bool) {
	text, err := src.read(dir + "/cpu.max")
	if err != nil {
		return 0, false
	}
	f := strings.Fields(text)
	if len(f) == 0 || f[0] == "max" {
		return 0, false
	}
	quota, err := strconv.ParseFloat(f[0], 64)
	period := 100000.0 // the kernel's default
	if len(f) > 1 && err == nil {
		period, err = strconv.ParseFloat(f[1], 64)
	}
	if err != nil || quota <= 0 || period <= 0 {
		return 0, false
	}
	return quota / period, true
}

// quotaV1 reads cpu.cfs_quota_us (-1 is none) over cpu.cfs_period_us.
func quotaV1(src Source, dir string) (float64, bool) {
	quota, err := src.readInt(dir + "/cpu.cfs_quota_us")
	if err != nil || quota <= 0 {
		return 0, false
	}
	period, err := src.readInt(dir + "/cpu.cfs_period_us")
	if err != nil || period <= 0 {
		return 0, false
	}
	return float64(quota) / float64(period), true
}

// cpuset is the set of CPUs that the cgroup allows.
func cpuset(src Source) ([]int, string, error) {
	dirs, v2, err := cgroupDirs(src, "cpuset")
	if err != nil {
		return nil, "", err
	}
	name := "/cpuset.cpus.effective"
	if !v2 {
		name = "/cpuset.effective_cpus"
	}
	// The innermost folder that has the file decides: an effective set already is the
	// intersection with its parents. A v1 file system without it has cpuset.cpus.
	for _, d := range dirs {
		for _, file := range []string{d + name, d + "/cpuset.cpus"} {
			text, err := src.read(file)
			if err != nil || text == "" {
				continue
			}
			list, err := ParseCPUList(text)
			if err != nil {
				return nil, "", fmt.Errorf("%s: %w", file, err)
			}
			return list, file, nil
		}
	}
	return nil, "", fmt.Errorf("no cpuset is set: %s%s does not exist", dirs[0], name)
}

// noMemoryLimit: v1 writes "no limit" as the largest page-aligned int64.
const noMemoryLimit = int64(1) << 60

// memoryRoom is the tightest memory limit on the way to the root and the smallest room
// (limit − usage, page cache that the kernel can drop not counted as usage) below any.
func memoryRoom(src Source) (limit, room int64, where string, found bool, reason string) {
	dirs, v2, err := cgroupDirs(src, "memory")
	if err != nil {
		return 0, 0, "", false, err.Error()
	}
	limitFile, usageFile, inactive := "/memory.max", "/memory.current", "inactive_file"
	if !v2 {
		limitFile, usageFile, inactive = "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"
	}
	limit, room = math.MaxInt64, math.MaxInt64
	for _, d := range dirs {
		l, err := src.readInt(d + limitFile) // "max" is no integer: no limit here
		if err != nil || l < 0 || l >= noMemoryLimit {
			continue
		}
		used, err := src.readInt(d + usageFile)
		if err != nil {
			used = 0
			reason = err.Error()
		}
		used = max(0, used-statField(src, d+"/memory.stat", inactive))
		if r := max(0, l-used); r < room {
			room, where = r, d
		}
		limit, found = min(limit, l), true
	}
	if !found {
		return 0, 0, "", false, "no cgroup memory limit is set"
	}
	return limit, room, where, true, reason
}

// statField reads one counter of a cgroup's memory.stat; 0 when there is none, which
// counts the page cache as used: the cautious side.
func statField(src Source, file, name string) int64 {
	text, err := src.read(file)
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) == 2 && f[0] == name {
			v, err := strconv.ParseInt(f[1], 10, 64)
			if err == nil {
				return v
			}
		}
	}
	return 0
}
