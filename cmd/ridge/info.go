package main

import (
	"encoding/json"

	"github.com/urfave/cli/v2"

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
			return machine.WriteInfo(c.App.Writer, h)
		},
	}
}

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "preflight: governor, turbo, load, thermals, quota, permissions; each with the fix",
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			p := machine.Doctor(c.Context, machine.Source{Clock: clockReader()}, machine.Options{})
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
