package machine

import (
	"fmt"
	"slices"
	"sort"

	"ridge/goharness/record"
)

// CPUOrder gives the CPU for each thread of a team over the usable cpus: the first N
// entries serve N threads.
//
//   - compact: neighbours first: the threads of one core, then the next core of the same
//     node, then the next node;
//   - scatter: distinct physical cores first, alternating between nodes, the faster core
//     type first; second hardware threads only when all cores have one;
//   - none: -1 for every thread (not pinned);
//   - a list such as 0,2,4-7: exactly those CPUs in that order; each must be usable.
//
// A CPU whose core is unknown counts as a core of its own.
func CPUOrder(host record.Host, cpus []int, policy string) ([]int, error) {
	if len(cpus) == 0 {
		return nil, fmt.Errorf("affinity %q: there is no usable CPU", policy)
	}
	switch policy {
	case "none":
		out := make([]int, len(cpus))
		for i := range out {
			out[i] = -1
		}
		return out, nil
	case "compact", "scatter":
		places := placesOf(host, cpus)
		if policy == "compact" {
			sort.Slice(places, func(i, j int) bool { return places[i].compactLess(places[j]) })
		} else {
			sort.Slice(places, func(i, j int) bool { return places[i].scatterLess(places[j]) })
		}
		out := make([]int, len(places))
		for i, p := range places {
			out[i] = p.cpu
		}
		return out, nil
	}
	list, err := ParseCPUList(policy)
	if err != nil {
		return nil, fmt.Errorf("affinity: want compact, scatter, none or a list: %w", err)
	}
	usable := map[int]bool{}
	for _, c := range cpus {
		usable[c] = true
	}
	for _, c := range list {
		if !usable[c] {
			return nil, fmt.Errorf("affinity %q: CPU %d is not usable here; usable are %s", policy, c, FormatCPUList(cpus))
		}
	}
	return list, nil
}

// place is where a CPU sits: smt is its rank among the threads of its core, turn the rank
// of its core among the cores of the same node and type.
type place struct{ cpu, core, socket, node, kind, smt, turn int }

func (p place) compactLess(q place) bool {
	return lessInts([]int{p.kind, p.socket, p.node, p.core, p.cpu}, []int{q.kind, q.socket, q.node, q.core, q.cpu})
}

func (p place) scatterLess(q place) bool {
	return lessInts([]int{p.smt, p.kind, p.turn, p.socket, p.node, p.cpu}, []int{q.smt, q.kind, q.turn, q.socket, q.node, q.cpu})
}

func lessInts(a, b []int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func placesOf(host record.Host, cpus []int) []place {
	logical := map[int]record.LogicalCPU{}
	for _, l := range host.CPU.Logical {
		logical[l.CPU] = l
	}
	kinds := map[string]int{}
	for i, t := range coreTypesBySpeed(host.CPU.CoreTypes) {
		kinds[t.Name] = i
	}
	var out []place
	for _, c := range cpus {
		p := place{cpu: c, core: c}
		if l, ok := logical[c]; ok {
			p.socket, p.node, p.kind = l.Socket, l.Node, kinds[l.Type]
			if l.Core >= 0 {
				p.core = l.Core
			}
		}
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].compactLess(out[j]) })
	threads := map[int]int{}          // threads of a core so far
	cores := map[[3]int]map[int]int{} // core ranks by (socket, node, kind)
	for i := range out {
		p := &out[i]
		p.smt = threads[p.core]
		threads[p.core]++
		group := [3]int{p.socket, p.node, p.kind}
		if cores[group] == nil {
			cores[group] = map[int]int{}
		}
		if _, ok := cores[group][p.core]; !ok {
			cores[group][p.core] = len(cores[group])
		}
		p.turn = cores[group][p.core]
	}
	return out
}

// coreTypesBySpeed puts the core type with the highest clock first; types whose clock is
// unknown keep their order behind.
func coreTypesBySpeed(types []record.CoreType) []record.CoreType {
	out := append([]record.CoreType(nil), types...)
	sort.SliceStable(out, func(i, j int) bool {
		a, _ := out[i].MaxMHz.Get()
		b, _ := out[j].MaxMHz.Get()
		return a > b
	})
	return out
}

// EfficiencyCores lists those of the CPUs that lie on the slower cores of a hybrid
// processor: its efficiency cores, or on Arm every core type but the fastest.
func EfficiencyCores(host record.Host, cpus []int) []int {
	if len(host.CPU.CoreTypes) < 2 {
		return nil
	}
	fastest := coreTypesBySpeed(host.CPU.CoreTypes)[0].Name
	slow := map[int]bool{}
	for _, l := range host.CPU.Logical {
		slow[l.CPU] = l.Type != "" && l.Type != fastest
	}
	var out []int
	for _, c := range cpus {
		if slow[c] {
			out = append(out, c)
		}
	}
	return out
}

// MoreThanFastCores is how many of so many threads cannot be on the fastest kind of core, where the system counts the cores
// of each kind and does not say which CPU is of which (darwin). 0 where it says, and where all can.
func MoreThanFastCores(host record.Host, threads int) int {
	if len(host.CPU.CoreTypes) < 2 || slices.ContainsFunc(host.CPU.Logical, func(l record.LogicalCPU) bool { return l.Type != "" }) {
		return 0
	}
	return max(0, threads-coreTypesBySpeed(host.CPU.CoreTypes)[0].Threads)
}

// LastCacheOfUnknownSize reports whether the system lists an outermost cache without its size, as device trees may.
func LastCacheOfUnknownSize(host record.Host) bool {
	last, unknown := 0, false
	for _, c := range host.CPU.Caches {
		if c.Type == "instruction" || c.Level < last {
			continue
		}
		unknown = c.SizeBytes == 0 || unknown && c.Level == last
		last = c.Level
	}
	return unknown
}

// AggregateLLC is the size in bytes of all last-level cache instances that serve the given
// CPUs together: a working set must be a multiple of it to be a DRAM figure. It is 0 when
// no cache is known, nor the size of the last one. Where sharing is unknown each CPU is counted with an instance of its
// own, the cautious side.
func AggregateLLC(host record.Host, cpus []int) int64 {
	if LastCacheOfUnknownSize(host) {
		return 0
	}
	want := map[int]bool{}
	for _, c := range cpus {
		want[c] = true
	}
	var total int64
	served := map[int]bool{} // CPUs whose last level has been counted
	for level := 4; level >= 1; level-- {
		var here []int
		for _, c := range host.CPU.Caches {
			if c.Level != level || c.Type == "instruction" {
				continue
			}
			if len(c.CPUs) == 0 {
				if len(served) == 0 {
					return c.SizeBytes * int64(max(1, len(cpus)))
				}
				continue
			}
			for _, list := range c.CPUs {
				of, err := ParseCPUList(list)
				if err != nil {
					continue
				}
				hit := false
				for _, cpu := range of {
					if want[cpu] && !served[cpu] {
						hit = true
						here = append(here, cpu)
					}
				}
				if hit {
					total += c.SizeBytes
				}
			}
		}
		for _, cpu := range here {
			served[cpu] = true
		}
	}
	return total
}
