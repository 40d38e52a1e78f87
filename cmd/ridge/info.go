package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ridge/goharness/backend"
	"ridge/goharness/machine"
)

func infoCommand() *cli.Command {
	return &cli.Command{
		Name: "info", Usage: "what this machine is; every unknown with its reason",
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			h := machine.Read(machine.Source{Clock: clockReader()})
			var err error
			if h.VendorLibraries, err = lookUpLibraries(c); err != nil {
				return err
			}
			if c.Bool("json") {
				return writeJSON(c, h)
			}
			if err := machine.WriteInfo(c.App.Writer, h); err != nil {
				return err
			}
			return writeAccelerators(c, backends())
		},
	}
}

// writeAccelerators says of every platform beside the CPU which devices it has, or why none.
func writeAccelerators(c *cli.Context, all []backend.Backend) error {
	for _, b := range all {
		if b.Name() == "cpu" {
			continue
		}
		ds, err := b.Devices()
		if err != nil {
			if _, err := fmt.Fprintf(c.App.Writer, "%s: unavailable: %v\n", b.Name(), err); err != nil {
				return err
			}
			continue
		}
		for _, d := range ds {
			line := fmt.Sprintf("%s: %s, %d MiB", d.ID, d.Name, d.Memory>>20)
			for _, k := range slices.Sorted(maps.Keys(d.Facts)) {
				line += fmt.Sprintf(", %s %s", strings.ReplaceAll(k, "_", " "), d.Facts[k])
			}
			if _, err := fmt.Fprintln(c.App.Writer, line); err != nil {
				return err
			}
		}
	}
	return nil
}

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "preflight: governor, turbo, load, thermals, quota, permissions; each with the fix",
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			p := machine.Doctor(c.Context, machine.Source{Clock: clockReader()}, machine.Options{Meters: meterFacts})
			var err error
			if c.Bool("json") {
				err = writeJSON(c, p)
			} else {
				err = machine.WriteDoctor(c.App.Writer, p)
			}
			if err == nil && !p.Passed {
				return fault("a preflight check failed")
			}
			return err
		},
	}
}

func writeJSON(c *cli.Context, v any) error {
	e := json.NewEncoder(c.App.Writer)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
