package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"ridge/goharness/measure"
)

func selftestCommand() *cli.Command {
	return &cli.Command{
		Name: "selftest", Usage: "measure the measurement: known durations under known noise",
		Flags: []cli.Flag{&cli.IntFlag{Name: "trials", Value: 400, Usage: "simulated runs per kind of noise"}},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if n := c.Int("trials"); n < 1 || n > 100000 {
				return fmt.Errorf("--trials %d: expected 1 to 100000", n)
			}
			r, err := measure.SelfTest(c.Context, measure.SelfTestOptions{Trials: c.Int("trials"), Spinner: measure.BusySpin{}})
			if err != nil {
				return err
			}
			if err := r.Write(c.App.Writer); err != nil {
				return err
			}
			if !r.Passed() {
				return fault("the self-test found a figure outside its goal")
			}
			return nil
		},
	}
}
