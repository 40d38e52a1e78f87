package plan

import (
	"slices"
	"strings"
	"testing"

	"ridge/goharness/ceiling"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestSweepsAreTheCrossProductInOrder(t *testing.T) {
	got, err := Sweep(map[string]string{"n": "1,2", "m": "8, 16"})
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, p := range got {
		text = append(text, p["m"]+"x"+p["n"])
	}
	if strings.Join(text, " ") != "8x1 8x2 16x1 16x2" {
		t.Error(text)
	}
	if one, err := Sweep(nil); err != nil || len(one) != 1 || len(one[0]) != 0 {
		t.Errorf("no lists: %v %v", one, err)
	}
	for _, bad := range []string{"", ",", "1,,2", "1,2,", " "} {
		if _, err := Sweep(map[string]string{"m": bad}); err == nil || !strings.Contains(err.Error(), "expected values separated by commas") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	long := strings.Repeat("1,", 100) + "1"
	if _, err := Sweep(map[string]string{"m": long, "n": long}); err == nil || !strings.Contains(err.Error(), "more than 4096") {
		t.Errorf("10201 cases: %v", err)
	}
}

func FuzzSweep(f *testing.F) {
	f.Add("1,2", "3")
	f.Add("", ",")
	f.Add(" 512 , 1024", "x=y")
	f.Fuzz(func(t *testing.T, m, n string) {
		got, err := Sweep(map[string]string{"m": m, "n": n})
		if err != nil {
			return
		}
		want := (strings.Count(m, ",") + 1) * (strings.Count(n, ",") + 1)
		if len(got) != want || want > maxSweep {
			t.Fatalf("%q × %q: %d cases, want %d", m, n, len(got), want)
		}
		for _, p := range got {
			if len(p) != 2 || p["m"] == "" || p["n"] == "" {
				t.Fatalf("%q × %q: %v", m, n, p)
			}
		}
	})
}

func FuzzFromID(f *testing.F) {
	ops := op.Builtin()
	for _, id := range []string{"cpu/gemm/fp32/m=64,n=64,k=64/threads=1/hot", "cpu/bandwidth/fp32/access=read,bytes=4096,passes=1/threads=2/cold@x",
		"cuda:0/relu/bf16/rows=1,cols=1/threads=0/hot", "cpu/dispatch/fp64/-/threads=2/hot", "cpu/gemm/fp32/m=064,n=64,k=64/threads=1/hot", "a/b/c"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := FromID(ops, text)
		if err != nil {
			return
		}
		if _, err := record.ParseCaseID(c.ID); err != nil {
			t.Fatalf("%q gave the id %q: %v", text, c.ID, err)
		}
		again, err := FromID(ops, c.ID)
		if err != nil || again.ID != c.ID {
			t.Fatalf("%q gave %q, which gives %q (%v)", text, c.ID, again.ID, err)
		}
	})
}

// A device's probes move Traffic in a launch: caches again and again, DRAM in one pass where there is memory for it; small working sets more.
func TestBandwidthProbesOfADeviceMoveItsTraffic(t *testing.T) {
	for _, tc := range []struct {
		memory int64
		dram   string
	}{{128 << 30, "bytes=1073737728"}, {1 << 30, "bytes=268443648,passes=3"}} {
		p := build(t, func(o *Options) {
			o.Device, o.Threads, o.LLC, o.Memory, o.Quick = "cuda:0", 1, 60<<20, tc.memory, false
			o.Levels = []ceiling.Level{{Name: "L2", Capacity: 60 << 20}, {Name: ceiling.DRAM}}
			o.Levels1, o.Near, o.Traffic, o.NearTraffic = o.Levels, 33<<20, 1<<30, 8<<30
		})
		for _, want := range []string{"access=write,bytes=31457280,passes=34/", "access=triad," + tc.dram + "/", "access=read,bytes=8192,passes=1048576/", "access=read,bytes=8388608,passes=1024/",
			"access=read,bytes=16777216,passes=64/", "chase/int64/bytes=268443648,"} {
			if !slices.ContainsFunc(p.Probes, func(x Probe) bool { return strings.Contains(x.Case.ID, want) }) {
				t.Errorf("%d bytes of memory: no probe has %s", tc.memory, want)
			}
		}
	}
}
