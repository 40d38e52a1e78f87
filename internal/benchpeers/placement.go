//go:build cgo && linux

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ridge/goharness/measure"
)

// shareCore reports whether the threads have one core between them, as ridge's own team among the lanes finds. A host may run both CPUs of a virtual
// machine on one core for half a second to some seconds, each at half its speed, which neither steal time nor waiting threads show.
func (b *bench) shareCore(ctx context.Context, lanes []*lane, threads int) (bool, error) {
	i := slices.IndexFunc(lanes, func(l *lane) bool { return l.role == ours })
	if threads < 2 || threads > b.cores || i < 0 || b.gaveUp {
		return b.gaveUp, nil
	}
	r, err := b.ask(ctx, lanes[i].entry, threads, lanes[i].c, request{Verb: verbTogether})
	if err != nil {
		return false, fmt.Errorf("compare the threads with one alone: %w", err)
	}
	return r.Together >= measure.OneCore, nil // 0: it is not known
}

// round takes one value of every lane while the threads have a core each. Where the host gives them none, the row's values count as disturbed from
// then on.
func (b *bench) round(ctx context.Context, lanes []*lane, threads, i int, keep func(*lane, float64)) error {
	for n := 0; ; n++ {
		values, err := b.values(ctx, lanes, threads, i)
		if err != nil {
			return err
		}
		shared, err := b.shareCore(ctx, lanes, threads)
		if err != nil {
			return err
		}
		if !shared || b.gaveUp || n == measure.MostReplaced {
			b.gaveUp = shared
			for _, l := range lanes {
				keep(l, values[l])
				if shared {
					l.disturbed++
				}
			}
			return nil
		}
		for _, l := range lanes {
			l.repeats++
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(b.wait(n)):
		}
	}
}
