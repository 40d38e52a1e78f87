package main

import (
	"github.com/urfave/cli/v2"

	"ridge/goharness/campaign"
	"ridge/goharness/machine"
	"ridge/goharness/op"
	"ridge/goharness/runner"
	"ridge/native"
)

func workerCommand() *cli.Command {
	return &cli.Command{
		Name: "worker", Usage: "the measured side of a run, started by ridge itself", Hidden: true,
		Flags: []cli.Flag{&cli.StringFlag{Name: "affinity", Value: "scatter"}},
		Action: func(c *cli.Context) error {
			native.PrepareWorker()
			return runner.ServeProcess(&runner.Server{
				Backends: backends(), Ops: op.Builtin(), Host: campaign.NewWorkerHost(machine.Source{}),
				Affinity: c.String("affinity"), Priority: runner.RaisePriority(),
			})
		},
	}
}
