package campaign

import (
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/record"
)

// queueWarnings tells once how many results were timed while the host was still launching: the conditions of each say so and why.
func queueWarnings(results []record.Result) []string {
	var ops, why []string
	n, of := 0, 0
	for i := range results {
		r := &results[i]
		if r.Conditions == nil || len(r.Conditions.Launching) == 0 {
			continue
		}
		of++
		at := slices.IndexFunc(r.Conditions.Launching, func(l record.Launching) bool { return strings.HasPrefix(l.Queue, record.QueueNotFilled) })
		if at < 0 {
			continue
		}
		n++
		if !slices.Contains(ops, r.Op) {
			ops = append(ops, r.Op)
		}
		if x := strings.TrimPrefix(r.Conditions.Launching[at].Queue, record.QueueNotFilled); !slices.Contains(why, x) {
			why = append(why, x)
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("in %d of %d results (%s) the device's queue was not filled before it began, so that the host's launches may lie in their times (conditions.launching of each): %s",
		n, of, few(ops), few(why))}
}

// few of a list, with the number of those left out.
func few(list []string) string {
	const most = 4
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}
