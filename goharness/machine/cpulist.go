package machine

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// maxCPU bounds the CPU numbers a list may name (Linux's own NR_CPUS limit is 8192), so
// that a mistyped range cannot ask for gigabytes.
const maxCPU = 65535

// ParseCPUList reads a list in the kernel's format: "0-3,8,10-14:2" (the number after
// the colon is a stride). The order is kept; a CPU named twice is an error. The empty
// list is an error too, since no caller can run on no CPU.
func ParseCPUList(list string) ([]int, error) {
	fail := func(part, why string) ([]int, error) {
		return nil, fmt.Errorf("CPU list %q: %q %s; expected numbers and ranges such as 0-3,8,10-14:2", clip(list), clip(part), why)
	}
	if strings.TrimSpace(list) == "" {
		return nil, fmt.Errorf("CPU list is empty; expected numbers and ranges such as 0-3,8,10-14:2")
	}
	var out []int
	seen := map[int]bool{}
	for _, part := range strings.Split(list, ",") {
		part = strings.TrimSpace(part)
		span, strideText, hasStride := strings.Cut(part, ":")
		loText, hiText, isRange := strings.Cut(span, "-")
		lo, err := strconv.ParseUint(loText, 10, 32)
		if err != nil {
			return fail(part, "is not a CPU number")
		}
		hi, stride := lo, uint64(1)
		if isRange {
			if hi, err = strconv.ParseUint(hiText, 10, 32); err != nil {
				return fail(part, "does not end in a CPU number")
			}
		}
		if hasStride {
			if stride, err = strconv.ParseUint(strideText, 10, 32); err != nil || stride == 0 || !isRange {
				return fail(part, "has a bad stride")
			}
		}
		if hi < lo {
			return fail(part, "runs backwards")
		}
		if hi > maxCPU {
			return fail(part, fmt.Sprintf("is above the highest CPU number, %d", maxCPU))
		}
		for c := lo; c <= hi; c += stride {
			if seen[int(c)] {
				return fail(part, fmt.Sprintf("names CPU %d a second time", c))
			}
			seen[int(c)] = true
			out = append(out, int(c))
		}
	}
	return out, nil
}

// FormatCPUList writes CPUs, sorted, in the kernel's format ("0-3,8").
func FormatCPUList(cpus []int) string {
	s := append([]int(nil), cpus...)
	sort.Ints(s)
	var parts []string
	for i := 0; i < len(s); {
		j := i
		for j+1 < len(s) && s[j+1] <= s[j]+1 {
			j++
		}
		if s[j] == s[i] {
			parts = append(parts, strconv.Itoa(s[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", s[i], s[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// intersect keeps the CPUs of a that are in b, in a's order.
func intersect(a, b []int) []int {
	in := make(map[int]bool, len(b))
	for _, c := range b {
		in[c] = true
	}
	var out []int
	for _, c := range a {
		if in[c] {
			out = append(out, c)
		}
	}
	return out
}
