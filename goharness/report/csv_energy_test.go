package report

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ridge/goharness/record"
)

// Scripts of others read columns by place: those that there were stay where they are.
func TestCSVColumnsStayWhereTheyAre(t *testing.T) {
	want := "run_id,created,hostname,id,device,suite,op,params,use_case,dtype,accumulate,threads,mode,batch,kernel,isa,status,reason," +
		"median_ns,ci95_low_ns,ci95_high_ns,min_ns,max_ns,mean_ns,std_ns,p90_ns,p95_ns,p99_ns,samples,relative_half_width,flops,bytes,working_set_bytes," +
		"gflops,bandwidth_gbps,arithmetic_intensity_flops_per_byte,bound,memory_level,fraction,ratio,ratio_ci95_low,ratio_ci95_high,energy_joules,gflops_per_watt," +
		"unfused_median_ns,fused_median_ns,verdict," +
		"power_avg_watts,power_max_watts,ops_per_watt,throughput_per_watt,energy_per_flop_pj,energy_per_byte_pj,uncertainty_joules,net_joules,net_uncertainty_joules," +
		"energy_window_ns,energy_launches,energy_per_launch_joules,unfused_energy_per_launch_joules,fused_energy_per_launch_joules,energy_meter,energy_unavailable,concurrent"
	if got := strings.Join(csvColumns, ","); !strings.HasPrefix(got, want) {
		t.Errorf("columns\n%s\nwant at the beginning\n%s", got, want)
	}
}

func TestCSVHasThePowerOfEachResultOrWhyItIsMissing(t *testing.T) {
	d := energyDoc("one", 1, 100)
	net := 150.0
	d.Results[0].Energy.NetJoules, d.Results[0].Energy.NetUncertainty = &net, 3
	d.Results[1].Energy = &record.Energy{Unavailable: "not selected"}
	d.Results[2].Energy = &record.Energy{} // asked for, and neither a figure nor a reason
	arms := d.Results[0]
	arms.ID, arms.Arms = "cpu/pair/fp32/n=1/threads=2/hot", []record.Arm{{Name: "unfused", Energy: arms.Energy}, {Name: "fused", Energy: &record.Energy{Joules: 10, Launches: 5, WindowNS: 1e9}}}
	d.Results = append(d.Results, arms)
	var b strings.Builder
	if err := writeCSV(&b, []record.Calibration{d}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	cell := func(row int, column string) string { return rows[row][slices.Index(rows[0], column)] }
	number := func(row int, column string) float64 {
		v, err := strconv.ParseFloat(cell(row, column), 64)
		if err != nil {
			t.Errorf("row %d: %s: %v", row, column, err)
		}
		return v
	}
	r := d.Results[0]
	for column, want := range map[string]float64{"power_avg_watts": 100, "power_max_watts": 100, "energy_joules": 200, "uncertainty_joules": 2, "net_joules": 150, "net_uncertainty_joules": 3,
		"energy_window_ns": 2e9, "energy_launches": 50, "energy_per_launch_joules": 4, "gflops_per_watt": r.Metrics.Power.GFLOPSPerWatt, "ops_per_watt": r.Metrics.Power.OpsPerWatt,
		"throughput_per_watt": r.Metrics.Power.ThroughputPerWatt, "energy_per_flop_pj": r.Metrics.Power.PJPerFLOP, "energy_per_byte_pj": r.Metrics.Power.PJPerByte} {
		if got := number(1, column); got != want {
			t.Errorf("%s is %v, want %v", column, got, want)
		}
	}
	if cell(1, "energy_meter") != "toy" || cell(1, "energy_unavailable") != "" {
		t.Errorf("meter %q, reason %q", cell(1, "energy_meter"), cell(1, "energy_unavailable"))
	}
	for row, why := range map[int]string{2: "not selected", 3: ""} {
		for _, column := range append([]string{"energy_joules"}, csvEnergyColumns[:len(csvEnergyColumns)-1]...) {
			if cell(row, column) != "" {
				t.Errorf("row %d: %s is %q without an energy", row, column, cell(row, column))
			}
		}
		if cell(row, "energy_unavailable") != why {
			t.Errorf("row %d: reason %q", row, cell(row, "energy_unavailable"))
		}
	}
	if number(4, "unfused_energy_per_launch_joules") != 4 || number(4, "fused_energy_per_launch_joules") != 2 {
		t.Errorf("arms %q and %q", cell(4, "unfused_energy_per_launch_joules"), cell(4, "fused_energy_per_launch_joules"))
	}
}
