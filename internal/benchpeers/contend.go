//go:build cgo && linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
)

// native contender: ridge's own kernels and probes, or a C peer through its adapter, on the
// same backend: the same fills, the same verifier, the same timing loop.
type nativeContender struct {
	dev  backend.Device
	lib  *peerLib // nil: ridge itself
	exec backend.Executable
}

// contend serves requests on descriptors 3 and 4. A peer's team is one thread on the first
// CPU; the library's pool is pinned to all of them by its environment.
func contend(lib string, cpus []int, llc int64) error {
	native.PrepareWorker()
	c := &nativeContender{}
	b := native.New()
	if lib != "" {
		l, err := openPeer(lib, cpus, b.Families)
		if err != nil {
			return err
		}
		c.lib, b, cpus = l, &native.Backend{Families: l.families}, cpus[:1]
	}
	dev, err := b.Open("cpu", backend.OpenOptions{CPUs: cpus, LLCBytes: llc})
	if err != nil {
		return err
	}
	c.dev = dev
	defer func() { _ = dev.Close() }()
	return serve(os.NewFile(3, "requests"), os.NewFile(4, "replies"), c.answer)
}

func (c *nativeContender) answer(q request) reply {
	var r reply
	var err error
	switch q.Verb {
	case verbHello:
		r.Version = c.version()
	case verbPrepare:
		r, err = c.prepare(q)
	case verbMeasure:
		before := tasks()
		r.NS, err = c.measure(q.Launches, q.Samples)
		r.WaitedNS = waited(before, tasks())
	case verbRelease:
		c.release()
	case verbClock:
		if r.IdleGHz, err = c.dev.MeasureClock(false); err == nil {
			r.LoadedGHz, err = c.dev.MeasureClock(true)
		}
	case verbTogether:
		t, ok := c.dev.(backend.Barrier)
		if !ok {
			return reply{Error: "this device does not compare its threads", Unsupported: true}
		}
		r.Together, err = t.TogetherOverAlone()
	default:
		err = fmt.Errorf("unknown verb %q", q.Verb)
	}
	if err != nil {
		r.Error, r.Unsupported = err.Error(), backend.IsUnsupported(err)
	}
	return r
}

func (c *nativeContender) version() string {
	if c.lib != nil {
		return c.lib.version
	}
	name, flags := native.Compiler()
	return "ridge, " + name + " " + flags
}

func (c *nativeContender) release() {
	if c.exec != nil {
		_ = c.exec.Release()
		c.exec = nil
	}
	if t, ok := c.dev.(backend.Trimmer); ok {
		t.Trim()
	}
}

// longestLaunch bounds what is worth comparing: a fallback that takes longer is not a contender.
const longestLaunch = 5e9

// prepare ends with the collector idle: neither it nor the scavenger runs in a sample.
func (c *nativeContender) prepare(q request) (reply, error) {
	defer func() {
		debug.FreeOSMemory()
		debug.SetGCPercent(-1)
	}()
	debug.SetGCPercent(100)
	c.release()
	p, err := single(q)
	if err != nil {
		return reply{}, err
	}
	c.exec, err = c.dev.Prepare(p, backend.PrepareOptions{Kernel: q.Variant, Seed: runner.Seed})
	if err != nil {
		return reply{}, err
	}
	if c.lib != nil {
		c.exec = peerExecutable{c.exec, c.lib}
		p.Reference = lenient{p.Reference}
		if err := c.hopeful(q.LimitNS); err != nil {
			return reply{Kernel: c.path()}, c.unsupported(err)
		}
	}
	v, err := runner.Verify(context.Background(), c.exec, p, runner.Seed, runner.DefaultEffort)
	if err != nil {
		return reply{Kernel: c.path()}, c.unsupported(err)
	}
	r := reply{Version: c.version(), Kernel: c.path()}
	if r.Checked, r.Lesser, err = verdict(v, c.lib != nil); err != nil {
		o, ok := p.Steps[0].Op.(*op.Conv)
		if c.lib == nil || !ok || !o.Requant {
			return r, err
		}
		var far error
		if r.Checked, r.Lesser, far = coarse(c.exec, p, o); far != nil {
			return r, errors.Join(err, far)
		}
	}
	r.LaunchNS, err = c.calibrate()
	return r, err
}

// hopeful launches a peer's case once; one that takes longer than the limit is not worth verifying.
func (c *nativeContender) hopeful(limitNS float64) error {
	if limitNS <= 0 {
		return nil
	}
	if err := c.exec.Fill(false, 0); err != nil {
		return err
	}
	began := time.Now()
	if err := c.exec.Run(1); err != nil {
		return err
	}
	if took := float64(time.Since(began)); took > limitNS {
		return backend.Unsupported("%.2g s for its first launch, the limit here is %.2g s: not a contender", took/1e9, limitNS/1e9)
	}
	return nil
}

// unsupported turns a peer's refusal of the arguments into the reply "unsupported".
func (c *nativeContender) unsupported(err error) error {
	if c.lib == nil {
		return err
	}
	return backend.Unsupported("%v (%s)", err, c.lib.path())
}

func (c *nativeContender) path() string {
	if c.lib != nil {
		return c.lib.path()
	}
	var names []string
	for _, k := range c.exec.Kernels() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// verdict describes a passed verification; a failed one is an error. Two failures of a peer are
// let through. A second run may have other bits: some libraries do not promise more. And
// products of bytes may saturate in 16 bits, as libraries for AVX2 do, if small numbers come
// out exactly: lesser then says so, and the peer is shown but is not the one to beat.
func verdict(v record.Verification, peer bool) (checked, lesser string, err error) {
	m := v.Mismatch
	repeat := m != nil && peer && m.Phase == "repeat"
	saturated := m != nil && peer && m.Phase == "random" && v.IntegerTest == "exact" && m.Bound == 0
	if m != nil && !repeat && !saturated {
		return "", "", fmt.Errorf("wrong output: %s%v is %s, expected %s (%s)", m.Tensor, m.Index, m.Got, m.Want, m.Phase)
	}
	if saturated {
		return "small numbers exactly", "wrong for large bytes", nil
	}
	text := fmt.Sprintf("%d of %d outputs, worst error %.2g of the bound", v.Checked, v.Elements, v.WorstBound)
	if v.Projection {
		text += ", and every row by projection"
	}
	if repeat {
		text += "; a second run gives other bits"
	}
	return text, "", nil
}

// coarsest is how many units of the output a peer's requantised bytes may be off and still be shown. oneDNN
// without VNNI halves the weights of signed bytes, which loses their last bit: 3 units at worst in 1,568 outputs.
const coarsest = 8

// coarse compares a peer's requantised convolution of random bytes, whose bits are wrong, by distance. Within
// coarsest the peer is shown, but is not the one to beat.
func coarse(e backend.Executable, p op.Program, o *op.Conv) (checked, lesser string, err error) {
	if err := e.Fill(false, 0); err != nil {
		return "", "", fmt.Errorf("compare by distance: fill: %w", err)
	}
	if err := e.Run(1); err != nil {
		return "", "", fmt.Errorf("compare by distance: %w", err)
	}
	in, out := op.NewInputs(runner.Seed, false, p.Tensors), len(p.Tensors)-1
	y := p.Tensors[out]
	const samples = 1024
	worst, rng := 0.0, rand.New(rand.NewPCG(runner.Seed, 1))
	for range samples {
		i, got := rng.Int64N(y.Elements()), [1]float64{}
		if err := e.Read(y.Name, i, 1, got[:]); err != nil {
			return "", "", fmt.Errorf("compare by distance: %w", err)
		}
		worst = max(worst, math.Abs(got[0]-op.Round(y.DType, o.Expect(in, out, i).Value)))
	}
	if worst > coarsest {
		return "", "", fmt.Errorf("off by %g units of the output on random bytes, at most %d are let through", worst, coarsest)
	}
	return fmt.Sprintf("%d outputs of random bytes within %g units", samples, worst), fmt.Sprintf("bytes off by up to %g", worst), nil
}

// calibrate finds the time of one launch from samples of at least a millisecond.
func (c *nativeContender) calibrate() (float64, error) {
	for n := 1; ; n *= 2 {
		ns, err := c.measure(n, 1)
		if err != nil {
			return 0, err
		}
		if ns[0] > longestLaunch {
			return 0, backend.Unsupported("%.1f s for one launch: not a contender", ns[0]/1e9)
		}
		if ns[0]*float64(n) > 1e6 {
			return ns[0], nil
		}
	}
}

func (c *nativeContender) measure(launches, samples int) ([]float64, error) {
	if c.exec == nil {
		return nil, errors.New("measure: nothing is prepared")
	}
	got, err := c.exec.Measure(context.Background(), launches, samples)
	if err != nil {
		return nil, err
	}
	var out []float64
	for _, s := range got {
		out = append(out, s.NS())
	}
	return out, nil
}

// task is what the scheduler says of a thread: nanoseconds run and ready to run.
type task struct{ ran, waited float64 }

// tasks reads all threads of this process, a library's pool among them.
func tasks() map[string]task {
	out := map[string]task{}
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, f := range files {
		var t task
		if b, err := os.ReadFile(f); err == nil {
			if _, err := fmt.Sscan(string(b), &t.ran, &t.waited); err == nil {
				out[f] = t
			}
		}
	}
	return out
}

// waited is how long the threads that worked were ready to run and did not: somebody else had
// their CPU. A thread worked that ran at least a fifth as long as the one that ran longest.
func waited(before, after map[string]task) float64 {
	var longest, sum float64
	for f, t := range after {
		longest = max(longest, t.ran-before[f].ran)
	}
	for f, t := range after {
		if t.ran-before[f].ran > longest/5 {
			sum += t.waited - before[f].waited
		}
	}
	return sum
}
