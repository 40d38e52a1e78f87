//go:build cuda && linux && cgo

package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"ridge/cuda/driver"
	"ridge/cuda/probe"
	"ridge/goharness/backend"
	"ridge/goharness/record"
)

const (
	// chunk is the samples that are enqueued before the context is asked whether to go on.
	chunk = 16
	// graphFrom launches a sample, kernels of less than 50 us in one of 1 ms, are replayed as a graph.
	graphFrom = 20
	// graphNodes bounds the launches that the graphs of one program hold: about 1 KB of device memory each.
	graphNodes = 1 << 16
)

// gateTries are the cases of a kind in which the blocking kernel may give up before that kind does without it, and, while it has not yet held
// in any case, the cases before the whole device does: where each launch is waited for, as under a tool that watches it, every case would lose gateLimit.
const gateTries = 3

// gates is how the blocking kernel fared on a device: cases in which it held, and those in which it gave up, by kind.
type gates struct {
	held   int
	gaveUp map[string]int
}

// closed is why a case of a kind does without the blocking kernel; nil: it does not.
func (g *gates) closed(kind string) error {
	all := 0
	for _, n := range g.gaveUp {
		all += n
	}
	switch {
	case g.gaveUp[kind] >= gateTries:
		return fmt.Errorf("the blocking kernel gave up after %v in %d cases of %s before", gateLimit, g.gaveUp[kind], kind)
	case g.held == 0 && all >= gateTries:
		return fmt.Errorf("the blocking kernel gave up after %v in each of %d cases before", gateLimit, all)
	}
	return nil
}

func (g *gates) giveUp(kind string) {
	if g.gaveUp == nil {
		g.gaveUp = map[string]int{}
	}
	g.gaveUp[kind]++
}

// gateLimit is how long the blocking kernel waits for the host: a hundred times what filling a queue takes.
var gateLimit = 250 * time.Millisecond

// errHost: launches on a stream are measured as the host makes them.
var errHost = errors.New("the host's launching is part of what is measured")

// ways is how the samples of an executable reach the device.
type ways struct {
	record.Launching
	noGraphs, noGate error // why the device or its driver could not, found on the way
	warnings         []string
}

// warn is for what goes another way than was asked for.
func (w *ways) warn(format string, a ...any) {
	w.warnings = append(w.warnings, fmt.Sprintf(format, a...))
}

// Launching says how the samples since the last call of Measure reached the device, and warns of what went another way than was asked for.
func (e *executable) Launching() (record.Launching, []string) {
	return e.ways.Launching, e.ways.warnings
}

// Measure takes samples on all sets in turn. The device's events time them. Untimed before the first: as many launches as a
// sample has, at least one, so that an arm of a comparison finds the device as its own launches leave it. Later chunks
// follow a single one.
func (e *executable) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	var out []backend.Sample
	lead, untimed := launches, 0
	err := e.change("measure", func() error {
		if e.resident != nil {
			var err error
			out, err = e.measureResident(ctx, launches, samples)
			return err
		}
		if e.beside != nil {
			var err error
			out, err = e.measureBeside(ctx, launches, samples)
			return err
		}
		for len(out) < samples {
			if err := ctx.Err(); err != nil {
				return err
			}
			q := driver.Timing{Lead: lead, Launches: launches, Samples: min(chunk, samples-len(out))}
			if err := e.choose(&q); err != nil {
				return err
			}
			got, err := e.list.Measure(e.d.stream, q)
			if err != nil {
				return fail("kernel "+e.names(), err)
			}
			if got.GaveUp { // some of the samples had to wait for the host
				e.ways.noGate = fmt.Errorf("the blocking kernel gave up after %v", gateLimit)
				e.ways.warn("%v: its samples were thrown away, and the queue is not filled beforehand", e.ways.noGate)
				e.d.gates.giveUp(e.kind(q))
				untimed += lead + launches*q.Samples
				continue
			}
			if q.Gate != nil {
				e.d.gates.held++
			}
			e.ways.Launching = e.ways.describe(q, got)
			placed := place(got, launches)
			placed[0].Untimed = untimed + lead
			out = append(out, placed...)
			lead, untimed = 1, 0
		}
		return nil
	})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return out, ctx.Err()
	}
	return out, err
}

// choose decides for graphs and the gate, and makes what they need.
func (e *executable) choose(q *driver.Timing) error {
	if q.Graphs, e.ways.Why = e.replays(q.Launches); q.Graphs {
		err := e.list.Graphs(e.d.stream, q.Lead, q.Launches, q.Samples)
		if lost := fail("make a graph", err); isLost(lost) {
			return lost
		}
		if err != nil && e.only("dispatch_graph") {
			return backend.Unsupported("%v", err)
		}
		if err != nil {
			e.ways.noGraphs = err
			e.ways.warn("no graph: %v: launched one by one on the stream", err)
			q.Graphs, e.ways.Why = e.replays(q.Launches)
		}
	}
	if e.only("dispatch") {
		e.ways.noGate = errHost
	}
	if e.ways.noGate != nil {
		return nil
	}
	if e.ways.noGate = e.d.gates.closed(e.kind(*q)); e.ways.noGate != nil {
		return nil // the first cases warned; the conditions of each say it
	}
	var err error
	if q.Gate, err = e.d.holdGate(); isLost(err) {
		return err
	}
	if err != nil {
		e.ways.noGate = err
		e.ways.warn("no blocking kernel: %v: the queue is not filled beforehand", err)
	}
	return nil
}

// replays reports whether samples of so many launches are replayed as graphs, and why.
func (e *executable) replays(launches int) (bool, string) {
	n, nodes := launches*e.list.PerSet(), e.list.GraphNodes(launches)
	switch {
	case e.only("dispatch"):
		return false, "launches on a stream are what is measured"
	case e.only("dispatch_graph"):
		return true, "launches in a graph are what is measured"
	case e.ways.noGraphs != nil:
		return false, e.ways.noGraphs.Error()
	case e.d.graphs == backend.GraphsOff:
		return false, "graphs are off"
	case n < graphFrom:
		return false, fmt.Sprintf("a sample is %d launches, of kernels that are long beside a launch", n)
	case nodes > graphNodes:
		return false, fmt.Sprintf("the graphs of all buffer sets would hold %d launches, at most %d are made", nodes, graphNodes)
	}
	return true, fmt.Sprintf("a sample is %d launches", n)
}

// kind of case: what may make the host wait behind the blocking kernel is the driver's way with such operations on such a path.
func (e *executable) kind(q driver.Timing) string {
	var ops []string
	for _, s := range e.p.Steps {
		ops = append(ops, s.Op.Name())
	}
	if q.Graphs {
		return strings.Join(ops, "+") + " in a graph"
	}
	return strings.Join(ops, "+") + " on the stream"
}

// only reports whether the program is that one op.
func (e *executable) only(op string) bool { return len(e.p.Steps) == 1 && e.p.Steps[0].Op.Name() == op }

func (w *ways) describe(q driver.Timing, t driver.Timed) record.Launching {
	out := record.Launching{Path: record.LaunchStream, Why: w.Why, Clock: "the last event, when the host saw it"}
	if q.Graphs {
		out.Path = record.LaunchGraph
	}
	switch {
	case w.noGate == errHost:
		out.Queue = "as the host fills it: " + errHost.Error()
	case q.Gate == nil:
		out.Queue = record.QueueNotFilled + w.noGate.Error()
	case t.Behind < t.Operations:
		out.Queue = fmt.Sprintf("the first %d of %d operations behind a blocking kernel", t.Behind, t.Operations)
	default:
		out.Queue = fmt.Sprintf("all %d operations behind a blocking kernel", t.Operations)
	}
	if t.Anchor > 0 {
		out.Clock = "the opening of the blocking kernel"
	}
	return out
}

// holdGate is the device's gate. Called on the device's thread.
func (d *device) holdGate() (*driver.Gate, error) {
	if d.gate != nil {
		return d.gate, nil
	}
	f, err := d.entry(probe.GateImage, probe.GateImage)
	if err != nil {
		return nil, err
	}
	g, err := driver.NewGate(f, gateLimit)
	if err != nil {
		return nil, fail("make the blocking kernel", err)
	}
	d.gate = g
	return g, nil
}

func isLost(err error) bool {
	var lost *backend.LostError
	return errors.As(err, &lost)
}

// place puts samples on the host's monotonic clock: they follow each other without a gap. The gate's opening says when the lead
// began, to about 2 microseconds; without it the host's sight of the last event says when they ended, which is late by the host's wake-up.
func place(t driver.Timed, launches int) []backend.Sample {
	all := 0.0
	for _, ns := range t.NS {
		all += ns
	}
	at := float64(t.End) - all
	if from := float64(t.Anchor) + t.LeadNS; t.Anchor > 0 && from < at { // nothing ends after the host saw its end
		at = from
	}
	out := make([]backend.Sample, len(t.NS))
	for i, ns := range t.NS {
		out[i] = backend.Sample{StartNS: int64(math.Round(at)), EndNS: int64(math.Round(at + ns)), Launches: launches, Switches: -1, RunDelayNS: -1, StealNS: -1}
		at += ns
	}
	return out
}

// EventResolutionNS is the least difference that the device's events show, measured once.
func (d *device) EventResolutionNS() (float64, error) {
	if d.resolution > 0 {
		return d.resolution, nil
	}
	err := d.do(func() (err error) {
		d.resolution, err = driver.EventResolution(d.stream)
		return fail("measure the resolution of events", err)
	})
	return d.resolution, err
}
