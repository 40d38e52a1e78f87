package power

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Clock is the time that readings and the worker's edges share.
type Clock struct {
	// Now is CLOCK_MONOTONIC.
	Now func() time.Duration
	// Sleep waits; the error is ctx's.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Sleep waits in real time.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// stallAfter: a meter that has not answered by then is given up for the run.
const stallAfter = 2 * time.Second

// Observer reads one meter on a clock. It is safe for a poller and a window at once.
type Observer struct {
	meter   Meter
	clock   Clock
	domains []Domain
	stall   time.Duration
	late    time.Duration // how long after that an answer of a meter that heeds its context is waited for

	mu     sync.Mutex
	gone   error // why the meter is given up
	listen func(Reading)
	beside func() Sensors
	cached Sensors
	asked  time.Duration // when beside was last called
	// still are main domains that never moved over a whole idle baseline; they are left out.
	still map[int]string
	// failed are domains that are not in the total and could not be read at some time.
	failed map[int]string
	// controllers are those of the host's memory, or noControllers why there are none.
	controllers   *Traffic
	noControllers string
	// first is what each domain showed first, moved whether it ever showed anything else.
	first []uint64
	moved []bool
	// span is what they have shown since a load or a baseline began, rested that of the latest baseline, loaded what the latest load ended with.
	span, rested, loaded span
	pulses               []pulse      // by domain
	paced                atomic.Int64 // the interval of the slowest sensor as it was last settled, ns
}

// NewObserver takes over a meter. listen, when not nil, hears every reading.
func NewObserver(m Meter, c Clock, listen func(Reading)) *Observer {
	return &Observer{meter: m, clock: c, domains: m.Domains(), stall: stallAfter, late: 50 * time.Millisecond, listen: listen, still: map[int]string{}, failed: map[int]string{}, moved: make([]bool, len(m.Domains())), pulses: make([]pulse, len(m.Domains()))}
}

// sensorsEvery is how often sensors beside the meter are read: the files of a large machine take a millisecond.
const sensorsEvery = 250 * time.Millisecond

// Beside adds sensors that the meter does not have (the host's temperature and clock for its CPU).
func (o *Observer) Beside(f func() Sensors) { o.beside = f }

// Controllers takes over the counters of the host's memory controllers, or why there are none.
func (o *Observer) Controllers(t *Traffic, why error) {
	if o.controllers = t; why != nil {
		o.noControllers = why.Error()
	}
}

// ControllersSource names what counts the traffic; "" where nothing does.
func (o *Observer) ControllersSource() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.controllers == nil {
		return ""
	}
	return o.controllers.Source
}

// Meter that is observed.
func (o *Observer) Meter() Meter { return o.meter }

// Gone is why the meter was given up; nil while it works.
func (o *Observer) Gone() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gone
}

// Close ends the meter, unless a stalled read still holds it.
func (o *Observer) Close() {
	done := make(chan struct{})
	go func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if _, stalled := o.gone.(*stalledError); !stalled {
			_ = o.meter.Close()
		}
		if o.controllers != nil {
			_ = o.controllers.Close()
		}
		o.gone = noData("the observer is closed")
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(o.stall):
	}
}

// stalledError is a read that never came back; its goroutine still holds the meter.
type stalledError struct{ NoData }

// Read takes a reading, held against the one before: wraps are undone by the caller, but what no
// counter can do ends the meter's use. A meter that does not answer is given up for good.
func (o *Observer) Read(ctx context.Context) (Reading, error) { return o.read(ctx, true) }

// read with sensors only where nothing depends on the moment of the next reading.
func (o *Observer) read(ctx context.Context, sensors bool) (Reading, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone != nil {
		return Reading{}, o.gone
	}
	if err := ctx.Err(); err != nil {
		return Reading{}, err
	}
	before := o.clock.Now()
	r, err := ask(ctx, o, o.meter.Read)
	if err != nil {
		if ctx.Err() != nil && o.gone == nil {
			return Reading{}, ctx.Err()
		}
		return Reading{}, err
	}
	after := o.clock.Now()
	r.AtNS, r.TookNS = int64(before+after)/2, int64(after-before)
	if len(r.Counts) != len(o.domains) {
		return Reading{}, noData("the meter showed %d domains and now %d", len(o.domains), len(r.Counts))
	}
	for i, why := range r.Failed {
		if o.failed[i] == "" {
			o.failed[i] = why.Error()
		}
	}
	if o.first == nil {
		o.first = slices.Clone(r.Counts)
	}
	for i, c := range r.Counts {
		o.moved[i] = o.moved[i] || c != o.first[i]
		o.pulses[i].see(time.Duration(r.AtNS), c)
	}
	o.span.see(r.Counts)
	if o.beside != nil {
		if sensors && (o.asked == 0 || after-o.asked >= sensorsEvery) {
			o.cached, o.asked = o.sense(), after
		}
		r.Sensors = r.Sensors.or(o.cached)
	}
	r.Sensors = r.Sensors.plausible(o.mostWatts())
	if o.listen != nil {
		o.listen(r)
	}
	return r, nil
}

// sense reads the sensors beside the meter with o.mu held. Such as do not answer are not asked again: no energy depends on them.
func (o *Observer) sense() Sensors {
	got, ask := make(chan Sensors, 1), o.beside
	go func() { got <- ask() }()
	select {
	case s := <-got:
		return s
	case <-time.After(o.stall):
		o.beside = nil
		return Sensors{}
	}
}

// ask calls the meter with o.mu held and gives up on a call that does not come back: the meter is not used again, since
// that call still holds it.
func ask[T any](ctx context.Context, o *Observer, call func(context.Context) (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	var none T
	got := make(chan answer, 1)
	limit, cancel := context.WithTimeout(ctx, o.stall)
	defer cancel()
	go func() {
		v, err := call(limit)
		got <- answer{v, err}
	}()
	var a answer
	select {
	case a = <-got:
	case <-limit.Done():
		patient := o.late
		if ctx.Err() != nil {
			patient = o.stall // nobody wants the answer any more: that is no fault of a slow meter
		}
		select {
		case a = <-got: // it heeded the context
			if ctx.Err() == nil {
				a.err = noData("the meter did not answer within %v", o.stall)
			}
		case <-time.After(patient):
			o.gone = &stalledError{NoData{Reason: "the meter stalled: no answer within " + o.stall.String()}}
			return none, o.gone
		}
	}
	if a.err != nil {
		return none, &NoData{Reason: a.err.Error()}
	}
	return a.v, nil
}

// mostWatts is the most that a reading of power may be. Boards exceed their limit for a moment, by up to twice, which is not thrice.
func (o *Observer) mostWatts() float64 {
	if limit := o.meter.Facts().LimitWatts; limit > 0 {
		return min(plausibleWatts, 3*limit)
	}
	return plausibleWatts
}

// main lists the domains whose sum is the device's power.
func (o *Observer) main() []int {
	var out []int
	for i, d := range o.domains {
		if !d.Apart && o.still[i] == "" {
			out = append(out, i)
		}
	}
	return out
}

// unit of the main domains.
func (o *Observer) unit() Unit {
	for _, i := range o.main() {
		if o.domains[i].Unit == Watts {
			return Watts
		}
	}
	return Joules
}

// counts reports whether a domain is in the total.
func (o *Observer) counts(i int) bool { return slices.Contains(o.main(), i) }

// slowest is the longest interval between updates of a main domain: as stated, or as it was last settled.
func (o *Observer) slowest() time.Duration {
	out := time.Duration(o.paced.Load())
	for _, i := range o.main() {
		out = max(out, o.domains[i].stated())
	}
	return out
}

// averaging is the longest averaging of a main domain.
func (o *Observer) averaging() time.Duration {
	var out time.Duration
	for _, i := range o.main() {
		out = max(out, o.domains[i].Averaging)
	}
	return out
}
