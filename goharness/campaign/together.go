package campaign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ridge/goharness/record"
)

// together lets devices be timed at the same time. Each prepares and verifies at its own pace; then it waits until all
// that still measure have come as far, and they begin together. Who has ended keeps its program going until the last of them has, so that each is
// timed under the load of the others from its begin to its end. Who is lost or through is not waited for.
type together struct {
	mu      sync.Mutex
	members []*member // those that measure
	changed chan struct{}
}

// member is a device that measures.
type member struct {
	device  string
	id      string // of the case that it waits with
	waiting bool
	group   *group // what it was let go with, from its begin to its end
}

// group are the measurements that began together.
type group struct{ parts []*part }

// part of a group is a device's measurement.
type part struct {
	device, id string
	over       bool   // its own figure is taken, or there will be none
	cut        string // why its program ended before the others were through
}

func newTogether(devices []string) *together {
	g := &together{changed: make(chan struct{})}
	for _, d := range devices {
		g.members = append(g.members, &member{device: d})
	}
	return g
}

// tell wakes everyone who waits for a change; the lock is held.
func (g *together) tell() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// wait until done says so, or ctx ends; the lock is held before and after.
func (g *together) wait(ctx context.Context, done func() bool) error {
	for !done() {
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
			g.mu.Lock()
		case <-ctx.Done():
			g.mu.Lock()
			return ctx.Err()
		}
	}
	return nil
}

// letGo begins a group when all members are there; the lock is held.
func (g *together) letGo() {
	if len(g.members) == 0 || slices.ContainsFunc(g.members, func(m *member) bool { return !m.waiting }) {
		return
	}
	now := &group{}
	for _, m := range g.members {
		now.parts = append(now.parts, &part{device: m.device, id: m.id})
		m.waiting, m.group = false, now
	}
	g.tell()
}

// begin waits for the others and answers with what follows the measurement (runner.Runner.Together).
func (g *together) begin(ctx context.Context, device, id string) func(*record.Result, func() error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.members, func(m *member) bool { return m.device == device })
	if i < 0 {
		return nil // it has left: what it still measures, it measures alone
	}
	m := g.members[i]
	m.waiting, m.id, m.group = true, id, nil
	g.letGo()
	if g.wait(ctx, func() bool { return m.group != nil }) != nil && m.group == nil {
		m.waiting = false
		return nil
	}
	now := m.group
	own := now.parts[slices.IndexFunc(now.parts, func(p *part) bool { return p.device == device })]
	return func(r *record.Result, keep func() error) { g.end(ctx, now, own, r, keep) }
}

// end writes into a result what ran beside it and keeps its program going for those that are still being timed.
func (g *together) end(ctx context.Context, now *group, own *part, r *record.Result, keep func() error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Conditions != nil {
		r.Conditions.Concurrent = nil
		for _, p := range now.parts {
			if p != own {
				r.Conditions.Concurrent = append(r.Conditions.Concurrent, record.Concurrent{Device: p.device, Case: p.id, Cut: p.cut})
			}
		}
	}
	if own.over = true; keep == nil {
		own.cut = "its measurement failed: " + string(r.Status)
	}
	g.tell()
	for keep != nil && ctx.Err() == nil && slices.ContainsFunc(now.parts, func(p *part) bool { return !p.over }) {
		g.mu.Unlock()
		err := keep()
		g.mu.Lock()
		if err != nil && ctx.Err() == nil {
			own.cut = "it did not go on: " + err.Error()
			r.Warnings = append(r.Warnings, "keeping it going for the devices that were measured at the same time failed: "+err.Error())
			return
		}
	}
}

// leave takes a device out: nobody waits for it any more.
func (g *together) leave(device string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.members, func(m *member) bool { return m.device == device })
	if i < 0 {
		return
	}
	g.members = slices.Delete(g.members, i, i+1)
	g.tell()
	g.letGo()
}

// measureTogether measures on all devices at the same time. What ends one of them leaves the others, but a journal that cannot be written.
func (t *tour) measureTogether(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	t.reached = len(t.stops)
	var here []*campaign
	var devices []string
	probes, cases := 0, 0
	for _, c := range t.stops {
		if c.lost != nil {
			continue
		}
		p, k := c.distinct()
		here, devices, probes, cases = append(here, c), append(devices, c.cfg.Plan.Device), probes+p, cases+k
	}
	t.stops[0].cfg.View.Plan(probes, cases)
	g := newTogether(devices)
	errs := make([]error, len(here))
	var wg sync.WaitGroup
	for i, c := range here {
		device := c.cfg.Plan.Device
		c.cfg.View = &oneOf{View: c.cfg.View}
		c.runner.Together = func(ctx context.Context, k record.Case) func(*record.Result, func() error) {
			return g.begin(ctx, device, k.ID)
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer g.leave(device)
			errs[i] = c.measureDevice(ctx)
			var full *record.WriteError
			switch {
			case errors.As(errs[i], &full):
				stop()
			case errs[i] != nil && ctx.Err() == nil:
				c.lose(errs[i])
			}
		}()
	}
	wg.Wait()
	return t.verdict(ctx, errs)
}

// verdict of a concurrent run: a journal that cannot be written, an interruption, or the device that was lost.
func (t *tour) verdict(ctx context.Context, errs []error) error {
	var full *record.WriteError
	for _, err := range errs {
		if errors.As(err, &full) {
			return err
		}
	}
	if ctx.Err() == nil {
		return t.lostOne()
	}
	var flying []string
	for _, err := range errs {
		if errors.Is(err, ErrInterrupted) {
			flying = append(flying, strings.TrimPrefix(err.Error(), ErrInterrupted.Error()+": "))
		} else if err != nil && t.lostOne() == nil {
			return err
		}
	}
	if len(flying) == 0 {
		return t.lostOne()
	}
	return fmt.Errorf("%w: %s", ErrInterrupted, strings.Join(flying, "; "))
}

// lostOne is the error of a run of which a device was left out.
func (t *tour) lostOne() error {
	for _, c := range t.stops {
		if c.lost != nil {
			return &DeviceError{c.cfg.Plan.Device, c.lost}
		}
	}
	return nil
}

// checkTogether refuses what cannot be measured at the same time.
func checkTogether(cfgs []Config) error {
	if len(cfgs) < 2 {
		return errors.New("a concurrent run of one device: it takes several")
	}
	for _, cfg := range cfgs {
		switch {
		case cfg.Plan.Device == "cpu":
			return errors.New(NoConcurrentCPU)
		case cfg.Energy:
			return errors.New(NoConcurrentEnergy)
		case len(cfg.Plan.Fusion) > 0:
			return errors.New(NoConcurrentFusion)
		}
	}
	return nil
}

// Why something is not measured concurrently.
const (
	NoConcurrentCPU    = "the cpu launches and checks what the other devices do, so that neither's figures would be its own: measure it by a run of its own"
	NoConcurrentEnergy = "energies are taken when a device's cases are through, and what the others do by then is nobody's plan: measure them without it"
	NoConcurrentFusion = "a fusion profile advises a program that has its device for itself: measure the patterns without it"
)

// locked is a view that several devices speak to.
type locked struct {
	mu   sync.Mutex
	view View
}

func (l *locked) Plan(probes, cases int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.Plan(probes, cases)
}

func (l *locked) Round(n, cases int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.Round(n, cases)
}

func (l *locked) Started(c record.Case) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.Started(c)
}

func (l *locked) Result(r record.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.Result(r)
}

func (l *locked) Warn(format string, a ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.Warn(format, a...)
}

// oneOf is the view of one of the devices: what all of them plan was said before.
type oneOf struct{ View }

func (*oneOf) Plan(int, int) {}
