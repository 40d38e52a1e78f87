//go:build cgo && linux

package probe_test

import (
	"runtime"
	"testing"

	"ridge/native/probe"
	"ridge/native/team"
)

func TestClockUnderLoadAgreesWithTheIdleClock(t *testing.T) {
	tm, err := team.New(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tm.Close()
	idle, err := probe.MeasureClock(tm)
	if err != nil {
		t.Fatal(err)
	}
	load, err := probe.ClockUnderLoad(tm)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: idle %+v, under load %+v", runtime.GOARCH, idle, load)
	for _, c := range []probe.Clock{idle, load} {
		if !(c.Median > 0 && c.Median <= c.Best && c.Samples > 0) {
			t.Errorf("clock %+v: want 0 < median <= best", c)
		}
	}
	// A chain that is not the critical path reads low; one shortened by the loop reads high.
	// Under emulation neither figure is a clock, so only real ones are compared.
	if idle.Best < 0.5 {
		t.Skipf("idle clock %.2f GHz: emulated", idle.Best)
	}
	if r := load.Best / idle.Best; r < 0.5 || r > 1.1 {
		t.Errorf("clock under load %.3f GHz, idle %.3f GHz", load.Best, idle.Best)
	}
}
