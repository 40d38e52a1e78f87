package main

import (
	"fmt"
	"math"

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
			switch {
			case err != nil && c.Context.Err() != nil:
				return interruptedBySignal("selftest: interrupted; nothing is kept: repeat the command, with fewer --trials than %d where the time is short", c.Int("trials"))
			case err != nil:
				return err
			case c.Bool("json"):
				err = writeJSON(c, selftestDocument(r))
			default:
				err = r.Write(c.App.Writer)
			}
			if err != nil {
				return err
			}
			if !r.Passed() {
				return fault("the self-test found a figure outside its goal")
			}
			return nil
		},
	}
}

// selftestRow is a row of the report as JSON. What could not be measured has no value.
type selftestRow struct {
	Test   string   `json:"test"`
	Noise  string   `json:"noise"`
	Value  *float64 `json:"value"`
	Goal   *float64 `json:"goal"`    // null: the row is only shown
	AtMost bool     `json:"at_most"` // the goal is an upper limit
	Passed bool     `json:"passed"`
	Detail string   `json:"detail"`
}

type selftestJSON struct {
	Trials int           `json:"trials"`
	Passed bool          `json:"passed"`
	Rows   []selftestRow `json:"rows"`
}

func selftestDocument(r measure.Report) selftestJSON {
	out := selftestJSON{Trials: r.Trials, Passed: r.Passed(), Rows: []selftestRow{}}
	for _, row := range r.Rows {
		x := selftestRow{Test: row.Test, Noise: row.Noise, AtMost: row.AtMost, Passed: row.Passed(), Detail: row.Detail}
		if !math.IsNaN(row.Value) && !math.IsInf(row.Value, 0) {
			x.Value = &row.Value
		}
		if row.Judged {
			x.Goal = &row.Goal
		}
		out.Rows = append(out.Rows, x)
	}
	return out
}
