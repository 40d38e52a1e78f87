package record

import "maps"

// scalings pairs the DRAM-sized STREAM triads of one thread with those of several.
func scalings(results []Result) []Scaling {
	var out []Scaling
	triad := func(r *Result) bool {
		return r.Op == "stream_triad" && r.Status.Counts() && r.BandwidthGBps > 0 && r.Ceiling != nil && r.Ceiling.MemoryLevel == "DRAM"
	}
	for i := range results {
		all := &results[i]
		if all.Threads < 2 || !triad(all) {
			continue
		}
		for j := range results {
			one := &results[j]
			if one.Threads != 1 || !triad(one) || one.Device != all.Device || one.DType != all.DType || one.Mode != all.Mode || !maps.Equal(one.Params, all.Params) {
				continue
			}
			out = append(out, Scaling{Op: all.Op, DType: all.DType, Threads: all.Threads, OneGBps: one.BandwidthGBps, AllGBps: all.BandwidthGBps,
				Efficiency: all.BandwidthGBps / (float64(all.Threads) * one.BandwidthGBps), OneThreadCase: one.ID, AllCase: all.ID})
			break
		}
	}
	return out
}
