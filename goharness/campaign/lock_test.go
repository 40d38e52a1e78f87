package campaign

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

const (
	besideEarlier = "cpu was measured by another run when this one began"
	besideLater   = "cpu was measured by another run too, from "
)

func warns(doc record.Calibration, text string) (times int) {
	for _, w := range doc.Summary.Warnings {
		if strings.Contains(w, text) {
			times++
		}
	}
	return times
}

// Runs that --force lets measure side by side say so in their documents, the earlier one too, and the one that is gone on with.
func TestDocumentsTellOfRunsBesideThem(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cfg, v := toy(t, &fakebackend.Backend{}, dir, copies(3)...)
	v.onStart = func(c record.Case) {
		if c.ID == copies(3)[1] {
			for range 2 {
				forced, _ := toy(t, &fakebackend.Backend{}, dir, copies(1)...)
				forced.Force = true
				if doc := mustRun(t, forced); warns(doc, besideEarlier) != 1 || warns(doc, besideLater) != 0 {
					t.Errorf("the later run warns %q", doc.Summary.Warnings)
				}
			}
		}
		if c.ID == copies(3)[2] {
			cancel()
		}
	}
	first, err := Run(ctx, cfg)
	if !Interrupted(err) || warns(first, besideLater) != 1 || !v.heard(besideLater) {
		t.Errorf("%v; the earlier run warns %q, and said %q", err, first.Summary.Warnings, v.warned)
	}
	for range 2 { // the second time with all from the journal
		rest, _ := toy(t, &fakebackend.Backend{}, dir, copies(3)...)
		rest.Resume = first.RunID
		if doc := mustRun(t, rest); warns(doc, besideLater) != 1 {
			t.Errorf("gone on with, it warns %q", doc.Summary.Warnings)
		}
	}
	alone, _ := toy(t, &fakebackend.Backend{}, dir, copies(1)...)
	if doc := mustRun(t, alone); warns(doc, "by another run") != 0 {
		t.Errorf("alone, it warns %q", doc.Summary.Warnings)
	}
}

// Who measured beside another run has the device when that one has ended: a third one is refused.
func TestAForcedRunTakesTheLockWhenItIsFree(t *testing.T) {
	dir := t.TempDir()
	first, err := LockDevice(dir, "cpu")
	if err != nil {
		t.Fatal(err)
	}
	cfg, v := toy(t, &fakebackend.Backend{}, dir, copies(3)...)
	cfg.Force = true
	v.onStart = func(c record.Case) {
		f, err := LockDevice(dir, "cpu")
		if err == nil {
			_ = f.Close()
		}
		var busy *BusyError
		if !errors.As(err, &busy) {
			t.Errorf("%s: %v, want a device that is measured", c.ID, err)
		}
		if c.ID == copies(3)[1] {
			_ = first.Close()
		}
	}
	mustRun(t, cfg)
	if f, err := LockDevice(dir, "cpu"); err != nil {
		t.Error(err)
	} else {
		_ = f.Close()
	}
	if !slices.Contains(v.started, copies(3)[2]) {
		t.Error("no case was begun without the other run")
	}
}

// Before the first measurement there is nothing to go on from, and no word of what was being done helps.
func TestAnInterruptionBeforeTheFirstMeasurementSaysSo(t *testing.T) {
	for name, cut := range map[string]func(cancel func()) (runner.Launcher, *fakebackend.Backend){
		"while the worker starts": func(cancel func()) (runner.Launcher, *fakebackend.Backend) {
			return func(ctx context.Context) (runner.Worker, error) { cancel(); return nil, ctx.Err() }, &fakebackend.Backend{}
		},
		"during a case": func(cancel func()) (runner.Launcher, *fakebackend.Backend) {
			return nil, &fakebackend.Backend{Before: func(op.Program) { cancel() }}
		},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		launch, b := cut(cancel)
		cfg, _ := toy(t, b, t.TempDir(), copies(1)...)
		if launch != nil {
			cfg.Launch = launch
		}
		_, err := Run(ctx, cfg)
		cancel()
		before := err != nil && err.Error() == "interrupted before anything was measured: repeat the command"
		if before != (launch != nil) || before && (!errors.Is(err, context.Canceled) || Interrupted(err)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
