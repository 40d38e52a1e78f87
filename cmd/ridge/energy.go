package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ridge/goharness/campaign"
	"ridge/goharness/machine"
	"ridge/goharness/measure"
	"ridge/goharness/power"
	"ridge/goharness/record"
)

// extraMeters are those of platforms that build tags bring.
var extraMeters []power.Source

// meters are all that are looked for. Tests put fixtures in their place.
var meters = func() []power.Source { return append(power.Builtin(), extraMeters...) }

// energyFlag is --energy, --energy=all or --energy=ID[,ID…], which may be repeated.
type energyFlag struct {
	on    bool
	cases []string
}

func (f *energyFlag) IsBoolFlag() bool { return true }
func (f *energyFlag) String() string   { return strings.Join(f.cases, ",") }

// Get is what an error about the flag shows of it.
func (f *energyFlag) Get() any {
	if len(f.cases) == 0 {
		return f.on
	}
	return f.String()
}

func (f *energyFlag) Set(s string) error {
	switch s {
	case "true", "":
		f.on = true
	case "false":
		*f = energyFlag{}
	default:
		ids := splitIDs(s)
		if len(ids) == 0 {
			return errors.New("expected " + f.expected())
		}
		f.on = true
		f.cases = append(f.cases, ids...)
	}
	return nil
}

// expected is what the flag takes.
func (f *energyFlag) expected() string { return "all or case ids, separated by commas" }

// splitIDs parts case ids at commas; an id has commas itself, between parameters, which hold a '='
// before the first '/'.
func splitIDs(s string) []string {
	var out []string
	for _, part := range strings.Split(s, ",") {
		head, _, _ := strings.Cut(part, "/")
		if part = strings.TrimSpace(part); len(out) > 0 && strings.Contains(head, "=") {
			out[len(out)-1] += "," + part
		} else if part != "" {
			out = append(out, part)
		}
	}
	return out
}

// energyFlags are shared by the commands that measure.
func energyFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "energy", Value: &energyFlag{}, DefaultText: "off",
			Usage: "measure the energy of the best and worst case of each op and precision; =all: of every case; =ID,…: of these (as --metrics power)"},
		&cli.StringFlag{Name: "power-trace", Usage: "with --energy: write time, watts, clock, temperature and what ran to this CSV file"},
	}
}

// energyConfig reads the flags. --metrics power asks for energy too.
func energyConfig(c *cli.Context, cfg *campaign.Config) error {
	f, _ := c.Generic("energy").(*energyFlag)
	if f != nil {
		cfg.Energy = f.on
		for _, id := range f.cases {
			if id == "all" {
				continue
			}
			if _, err := record.ParseCaseID(id); err != nil {
				return fmt.Errorf("--energy %q: expected all or case ids: %w", id, err)
			}
		}
		cfg.EnergyOf.Cases = f.cases
	}
	cfg.Energy = cfg.Energy || slices.Contains(cfg.Metrics, "power")
	cfg.EnergyOf.Meters = meters()
	name := c.String("power-trace")
	if !c.IsSet("power-trace") {
		return nil
	}
	if !cfg.Energy {
		return errors.New("--power-trace goes with --energy")
	}
	if name == "" || name == "-" {
		return fmt.Errorf("--power-trace %q: expected the name of a file", name)
	}
	if err := checkTrace(c, name); err != nil {
		return err
	}
	cfg.EnergyOf.Trace = &lateFile{path: name}
	return nil
}

// checkTrace refuses a place that a trace cannot be written to. A pipe is one: a reader that stops would make the run wait.
func checkTrace(c *cli.Context, name string) error {
	if st, err := os.Stat(name); err == nil && !st.IsDir() && !st.Mode().IsRegular() && st.Mode()&os.ModeCharDevice == 0 {
		return fmt.Errorf("--power-trace %s: expected a file, not a pipe or socket", name)
	}
	if err := checkPlace(c, "power-trace"); err != nil {
		return err
	}
	if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() {
		return nil // it will be made, or was opened
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("--power-trace %s: expected a file that can be written: %w", name, pathCause(err))
	}
	return f.Close()
}

// meterFacts names the meter of each device for the doctor, or why there is none.
func meterFacts(ctx context.Context) []machine.MeterFact {
	src := machine.Source{}
	h := machine.Read(src)
	devices := []record.Device{{ID: "cpu", Platform: "cpu"}}
	for _, b := range backends() {
		if b.Name() == "cpu" || b.Available() != nil {
			continue
		}
		ds, _ := b.Devices() // checked by list devices
		devices = append(devices, ds...)
	}
	var out []machine.MeterFact
	for _, d := range devices {
		f := machine.MeterFact{Device: d.ID}
		m, err := power.Find(ctx, meters(), campaign.MeterEnv(src, h), campaign.MeterDevice(d))
		if err != nil {
			f.Missing = err.Error()
		} else {
			f.Meter = m.Name()
			for _, x := range m.Domains() {
				if x.Apart {
					f.Apart = append(f.Apart, x.Name)
				} else {
					f.Domains = append(f.Domains, x.Name)
				}
			}
			o := power.NewObserver(m, power.Clock{Now: measure.MonotonicNow, Sleep: power.Sleep}, nil) // does not wait for a driver that hangs
			if _, err := o.Read(ctx); err != nil {
				f.Missing = err.Error()
			}
			o.Close()
		}
		out = append(out, f)
	}
	return out
}
