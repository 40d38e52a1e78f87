package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"ridge/goharness/record"
)

// metrics gives the last run in Prometheus' text format, version 0.0.4.
func (s *server) metrics(r *http.Request) (answer, error) {
	st, err := s.open(r)
	if err != nil {
		return answer{}, err
	}
	defer st.Close()
	d, err := st.Document(r.Context(), "latest")
	if err != nil {
		return answer{}, err
	}
	return send("text/plain; version=0.0.4; charset=utf-8", []byte(prometheus(&d)))
}

// family is the samples of one metric, which the format wants together.
type family struct {
	name, help string
	lines      []string
}

func (f *family) add(v float64, labels ...string) {
	var l []string
	for i := 0; i+1 < len(labels); i += 2 {
		l = append(l, labels[i]+`="`+escape.Replace(labels[i+1])+`"`)
	}
	f.lines = append(f.lines, fmt.Sprintf("%s{%s} %s", f.name, strings.Join(l, ","), strconv.FormatFloat(v, 'g', -1, 64)))
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func prometheus(d *record.Calibration) string {
	info := family{name: "ridge_run_info", help: "The last run."}
	info.add(1, "run_id", d.RunID, "host", d.Host.Hostname, "chip", d.Host.CPU.Model, "version", d.Tool.Version, "revision", d.Tool.Revision)
	created := family{name: "ridge_run_created_timestamp_seconds", help: "When the last run began."}
	if t, err := time.Parse(time.RFC3339Nano, d.Created); err == nil {
		created.add(float64(t.UnixMilli()) / 1e3)
	}
	count := family{name: "ridge_run_results", help: "Results of the last run by status."}
	times := family{name: "ridge_case_time_seconds", help: "Median time of one launch."}
	flops := family{name: "ridge_case_flops_per_second", help: "Operations per second of a case."}
	bytes := family{name: "ridge_case_bytes_per_second", help: "Modelled bytes per second of a case."}
	energy := family{name: "ridge_case_energy_joules", help: "Energy of one launch."}
	limits := family{name: "ridge_ceiling", help: "Best sustained probe of a ceiling, in its unit."}
	counts := map[record.Status]int{}
	for i := range d.Results {
		r := &d.Results[i]
		counts[r.Status]++
		if !r.Status.Counts() || r.Time == nil {
			continue
		}
		labels := []string{"case", r.ID, "device", r.Device, "op", r.Op, "dtype", string(r.DType), "kernel", r.Kernel}
		times.add(r.Time.MedianNS/1e9, labels...)
		if r.GFLOPS > 0 {
			flops.add(r.GFLOPS*1e9, labels...)
		}
		if r.BandwidthGBps > 0 {
			bytes.add(r.BandwidthGBps*1e9, labels...)
		}
		if e := r.Energy; e != nil && e.Joules > 0 {
			energy.add(e.Joules/float64(max(e.Launches, 1)), labels...)
		}
	}
	told := map[record.CeilingKey]bool{} // an imported document may say one twice
	for _, c := range d.Ceilings {
		if c.Measured.Value > 0 && !told[c.Key()] {
			told[c.Key()] = true
			limits.add(c.Measured.Value, "device", c.Device, "kind", c.Kind, "dtype", string(c.DType), "level", c.Level, "isa", c.ISA,
				"access", c.Access, "threads", strconv.Itoa(c.Threads), "unit", c.Unit)
		}
	}
	var statuses []string
	for st := range counts {
		statuses = append(statuses, string(st))
	}
	slices.Sort(statuses)
	for _, st := range statuses {
		count.add(float64(counts[record.Status(st)]), "status", st)
	}
	var b strings.Builder
	for _, f := range []family{info, created, count, times, flops, bytes, energy, limits} {
		if len(f.lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n%s\n", f.name, f.help, f.name, strings.Join(f.lines, "\n"))
	}
	return b.String()
}
