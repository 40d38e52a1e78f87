package plan

import (
	"fmt"
	"slices"
	"strings"
)

// maxSweep bounds the cases of one sweep.
const maxSweep = 4096

// Sweep expands parameters whose values are lists ("512,1024") to their cross product, in
// the order of the parameters' names and of the values.
func Sweep(lists map[string]string) ([]map[string]string, error) {
	names := make([]string, 0, len(lists))
	for n := range lists {
		names = append(names, n)
	}
	slices.Sort(names)
	out := []map[string]string{{}}
	for _, n := range names {
		values := strings.Split(lists[n], ",")
		var next []map[string]string
		for _, base := range out {
			for _, v := range values {
				if v = strings.TrimSpace(v); v == "" {
					return nil, fmt.Errorf("parameter %s=%q: expected values separated by commas", n, lists[n])
				}
				if len(next) >= maxSweep {
					return nil, fmt.Errorf("the sweep has more than %d cases", maxSweep)
				}
				p := map[string]string{n: v}
				for k, x := range base {
					p[k] = x
				}
				next = append(next, p)
			}
		}
		out = next
	}
	return out, nil
}
