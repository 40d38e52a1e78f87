// Command slowworker is ridge's worker with a known slowdown, for the benchmark of compare --interleave: of every
// batch it runs 20 launches and RIDGE_SLOW_EXTRA (0 or more) besides, and says that it ran 20. With 0 it is the
// build to compare with: batches of the same length, no extra work. Nothing of it is in ridge.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"ridge/goharness/backend"
	"ridge/goharness/campaign"
	"ridge/goharness/fusion"
	"ridge/goharness/machine"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
)

// counted launches of a batch: one more is 5 %.
const counted = 20

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "slowworker:", err)
		os.Exit(2)
	}
}

func serve(args []string) error {
	extra, err := strconv.Atoi(os.Getenv("RIDGE_SLOW_EXTRA"))
	if err != nil || extra < 0 || extra > 10*counted {
		return fmt.Errorf("RIDGE_SLOW_EXTRA %q: expected 0 to %d launches", os.Getenv("RIDGE_SLOW_EXTRA"), 10*counted)
	}
	if len(args) != 3 || args[0] != "worker" || args[1] != "--affinity" {
		return fmt.Errorf("%q: expected what ridge compare --interleave asks of a worker: worker --affinity POLICY", args)
	}
	native.PrepareWorker()
	return runner.ServeProcess(&runner.Server{
		Backends: []backend.Backend{slowBackend{native.New(), extra}}, Ops: op.Builtin(), Host: campaign.NewWorkerHost(machine.Source{}),
		Affinity: args[2], Priority: runner.RaisePriority(),
		Patterns: func(ref record.ProgramRef) (op.Program, error) { return fusion.Program(fusion.Builtin(), ref) },
	})
}

type slowBackend struct {
	backend.Backend
	extra int
}

func (b slowBackend) Open(id string, o backend.OpenOptions) (backend.Device, error) {
	d, err := b.Backend.Open(id, o)
	if err != nil {
		return nil, err
	}
	return slowDevice{d, b.extra}, nil
}

type slowDevice struct {
	backend.Device
	extra int
}

func (d slowDevice) Prepare(p op.Program, o backend.PrepareOptions) (backend.Executable, error) {
	e, err := d.Device.Prepare(p, o)
	if err != nil {
		return nil, err
	}
	return slowExecutable{e, d.extra}, nil
}

type slowExecutable struct {
	backend.Executable
	extra int
}

// Measure runs extra launches with every 20 and does not count them.
func (e slowExecutable) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	batches := (launches + counted - 1) / counted
	got, err := e.Executable.Measure(ctx, batches*(counted+e.extra), samples)
	for i := range got {
		got[i].Launches = batches * counted
	}
	return got, err
}
