package report

import (
	"sort"
	"strconv"

	"ridge/goharness/record"
)

var sweepColumns = []column{{name: "working set", right: true}, {name: "read GB/s", right: true}, {name: "thr", right: true},
	{name: "latency ns", right: true}}

// sweepRows shows read bandwidth and latency over the size of the buffer, from the probes
// and sweep points of a run. The key is the parameter bytes: the working set also holds the
// result, which differs between the two ops.
func sweepRows(rs []record.Result) []gridRow {
	type point struct {
		read, latency string
		threads       string
	}
	at := map[int64]*point{}
	widest := 0
	for i := range rs {
		widest = max(widest, rs[i].Threads)
	}
	for i := range rs {
		r := &rs[i]
		if !r.Probe() || !r.Status.Counts() || r.Time == nil {
			continue
		}
		bytes, err := strconv.ParseInt(r.Params["bytes"], 10, 64)
		if err != nil {
			continue
		}
		p := at[bytes]
		if p == nil {
			p = &point{none, none, none}
		}
		switch {
		case r.Op == "bandwidth" && r.Params["access"] == "read" && r.Threads == widest:
			p.read, p.threads = digits(r.BandwidthGBps), strconv.Itoa(r.Threads)
		case r.Op == "chase" && r.Items > 0:
			p.latency = digits(r.Time.MedianNS / float64(r.Items))
		default:
			continue
		}
		at[bytes] = p
	}
	var sizes []int64
	for n := range at {
		sizes = append(sizes, n)
	}
	sort.Slice(sizes, func(i, j int) bool { return sizes[i] < sizes[j] })
	var rows []gridRow
	for _, n := range sizes {
		p := at[n]
		rows = append(rows, gridRow{cells: []string{size(n), p.read, p.threads, p.latency}})
	}
	return rows
}
