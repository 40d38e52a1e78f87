package main

import (
	"github.com/urfave/cli/v2"

	"ridge/goharness/backend"
	"ridge/goharness/campaign"
	"ridge/goharness/fusion"
	"ridge/goharness/machine"
	"ridge/goharness/op"
	"ridge/goharness/power"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/goharness/tune"
	"ridge/native"
)

// controllers opens the counters of the host's memory controllers; tests put others in their place.
var controllers = func() (runner.Traffic, error) {
	src := machine.Source{}
	return openTraffic(campaign.MeterEnv(src, machine.Read(src)))
}

func openTraffic(env power.Env) (runner.Traffic, error) {
	t, err := power.OpenTraffic(env)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func workerCommand() *cli.Command {
	return &cli.Command{
		Name: "worker", Usage: "the measured side of a run, started by ridge itself", Hidden: true,
		Flags: []cli.Flag{&cli.StringFlag{Name: "affinity", Value: "scatter"},
			&cli.StringFlag{Name: "tuning", Usage: "file of ridge tune"},
			&cli.StringFlag{Name: "cuda-graphs", Value: backend.GraphsOn}},
		Action: func(c *cli.Context) error {
			native.PrepareWorker()
			var tuned tune.File
			if path := c.String("tuning"); path != "" {
				var err error
				if tuned, err = tune.Load(path, tune.Identify(machine.Read(machine.Source{}))); err != nil {
					return err
				}
			}
			return runner.ServeProcess(&runner.Server{
				Backends: backends(), Ops: op.Builtin(), Host: campaign.NewWorkerHost(machine.Source{}),
				Affinity: c.String("affinity"), Tuning: tuned.Tuning(), Graphs: c.String("cuda-graphs"), Priority: runner.RaisePriority(),
				Traffic:  controllers,
				Patterns: func(ref record.ProgramRef) (op.Program, error) { return fusion.Program(fusion.Builtin(), ref) },
			})
		},
	}
}
