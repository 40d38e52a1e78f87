package report

import (
	"cmp"
	"slices"
	"strconv"

	"ridge/goharness/record"
)

var sweepColumns = []column{{name: "working set", right: true}, {name: "read GB/s", right: true}, {name: "thr", right: true},
	{name: "latency ns", right: true}, {name: "device", drop: 1}}

// sweepRows shows read bandwidth and latency over the size of the buffer: the points that charts draw, those of one size
// in one row. The key is the parameter bytes: the working set also holds the result, which differs between the two ops.
func sweepRows(d *record.Calibration) []gridRow {
	var rows []gridRow
	for _, dev := range d.Devices {
		read, latency := sweepPoints(d, dev.ID)
		at := map[int64][]string{}
		row := func(p sweepPoint) []string {
			if at[p.Bytes] == nil {
				device := ""
				if len(d.Devices) > 1 {
					device = clean(dev.ID)
				}
				at[p.Bytes] = []string{size(p.Bytes), none, none, none, device}
			}
			return at[p.Bytes]
		}
		for _, p := range read {
			copy(row(p)[1:], []string{digits(p.Value), strconv.Itoa(p.Threads)})
		}
		for _, p := range latency {
			row(p)[3] = digits(p.Value)
		}
		var sizes []int64
		for n := range at {
			sizes = append(sizes, n)
		}
		slices.SortFunc(sizes, cmp.Compare)
		for _, n := range sizes {
			rows = append(rows, gridRow{cells: at[n]})
		}
	}
	return rows
}
