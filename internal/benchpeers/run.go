//go:build cgo && linux

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Roles of a lane in a row.
const (
	ours  = "ours"
	peer  = "peer"
	probe = "probe"
)

// entry is one way of computing a row: a contender and what it is asked for.
type entry struct {
	role  string
	name  string // shown: "mkl packed"
	maker string // what bench.open opens
	seat  string // the process it runs in: no two entries of a row share one
	ask   request
	// Of a probe: the limit it measures ("compute", "memory"), the row's work in that limit's
	// unit and the probe's own work in one launch.
	limit           string
	work, probeWork float64
}

// lane is an entry whose case is ready in its process.
type lane struct {
	entry
	c        contender
	rep      reply
	launches int
	samples  int
	ns       []float64 // one value for each round
	pilot    []float64
	// How many samples were taken again, and how many rounds stayed disturbed.
	repeats, disturbed int
}

// settings of a run.
type settings struct {
	Rounds   int           // timed rounds
	Budget   time.Duration // of a row's timed rounds: long launches have fewer, but never less than leastRounds
	Pilot    int           // rounds of all contenders before them
	Sample   time.Duration // of one contender in one round
	Idle     time.Duration // before each, so that the others' spinning pools have gone to sleep
	Keep     float64       // peers slower than this times the best peer's pilot leave after it
	KeepMax  int           // and at most so many stay
	Slow     time.Duration // log answers that take longer; 0: none
	Patient  time.Duration // for one answer of a contender
	Hopeless float64       // a peer whose first launch takes so many times ours is not prepared further
}

// bench runs rows. Contenders are opened when first needed and kept.
type bench struct {
	settings
	open  func(library string, threads int) (contender, error)
	steal func() (int64, error) // hypervisor's steal time so far, all CPUs
	cpus  int                   // CPUs that steal is counted over
	now   func() time.Time
	log   func(string)

	cores  int                       // of the machine, each of which a thread may have
	wait   func(n int) time.Duration // before repetition n of a round on one core
	gaveUp bool                      // the row's threads shared a core however long it waited

	running  map[string]contender
	Missing  map[string]error  // libraries that could not be opened
	versions map[string]string // of libraries that took part
}

// subSamples of one round: their median is the round's value, so that a short disturbance
// does not count.
const subSamples = 5

// contender finds or starts the process of an entry.
func (b *bench) contender(e entry, threads int) (contender, error) {
	if err := b.Missing[e.maker]; err != nil {
		return nil, err
	}
	if c := b.running[e.key(threads)]; c != nil {
		return c, nil
	}
	c, err := b.open(e.maker, threads)
	if err != nil {
		b.Missing[e.maker] = err
		return nil, err
	}
	b.running[e.key(threads)] = c
	return c, nil
}

func (e entry) key(threads int) string { return fmt.Sprintf("%s/%d", e.seat, threads) }

// close ends all contenders.
func (b *bench) close() {
	for k, c := range b.running {
		c.Close()
		delete(b.running, k)
	}
}

// ask sends a request to an entry's contender. One that does not answer is closed; the next
// row starts it anew.
func (b *bench) ask(ctx context.Context, e entry, threads int, c contender, q request) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, b.Patient)
	defer cancel()
	began := b.now()
	defer func() {
		if took := b.now().Sub(began); took > b.Slow && b.Slow > 0 {
			b.log(fmt.Sprintf("    %s took %.1f s to %s", e.name, took.Seconds(), q.Verb))
		}
	}()
	r, err := c.Ask(ctx, q)
	if err != nil {
		c.Close()
		delete(b.running, e.key(threads))
		return r, err
	}
	return r, nil
}

// row prepares all entries of a row, times them in turn and says how ours compares.
func (b *bench) row(ctx context.Context, r row) (result, error) {
	o, err := op.Builtin().New(r.op, r.params, r.dtype)
	if err != nil {
		return result{}, err
	}
	res := result{ID: r.id(o), Group: r.group, Label: r.label, Op: r.op, DType: r.dtype, Threads: r.threads, Count: r.count,
		Network: r.network, FLOPs: o.FLOPs(), Bytes: o.Bytes(), Metric: r.metric, Date: b.now().UTC().Format("2006-01-02"), Refused: map[string]string{}}
	began, steal0 := b.now(), b.stealNow()
	b.gaveUp = false
	var lanes []*lane
	defer func() {
		for _, l := range lanes {
			if b.running[l.key(r.threads)] == l.c {
				_, _ = b.ask(ctx, l.entry, r.threads, l.c, request{Verb: verbRelease})
			}
		}
	}()
	var fastest float64 // launch of ours: entries list ours before the peers
	for _, e := range r.entries {
		if e.role == peer {
			e.ask.LimitNS = max(b.Hopeless*fastest, hopelessFloor)
		}
		l, why, err := b.prepare(ctx, e, r.threads)
		switch {
		case ctx.Err() != nil:
			return res, ctx.Err()
		case err != nil:
			res.Refused[e.name] = err.Error()
		case why == "":
			lanes = append(lanes, l)
			if e.role == ours && (fastest == 0 || l.rep.LaunchNS < fastest) {
				fastest = l.rep.LaunchNS
			}
		}
	}
	if !slices.ContainsFunc(lanes, func(l *lane) bool { return l.role == ours }) {
		return res, fmt.Errorf("%s: ours cannot be measured: %v", res.ID, res.Refused)
	}
	res.PrepareSeconds = math.Round(10*b.now().Sub(began).Seconds()) / 10
	for i := range b.pilots(lanes) {
		if err := b.round(ctx, lanes, r.threads, i, func(l *lane, ns float64) { l.pilot = append(l.pilot, ns) }); err != nil {
			return res, err
		}
	}
	final := b.finalists(lanes)
	for i := range b.rounds(final) {
		if err := b.round(ctx, final, r.threads, i, func(l *lane, ns float64) { l.ns = append(l.ns, ns) }); err != nil {
			return res, err
		}
	}
	took := b.now().Sub(began)
	res.Seconds = math.Round(10*took.Seconds()) / 10
	if steal0 >= 0 && took > 0 {
		res.StealShare = float64(b.stealNow()-steal0) / float64(took) / float64(b.cpus)
	} else {
		res.StealShare = -1
	}
	return res, res.judge(lanes)
}

func (b *bench) stealNow() int64 {
	ns, err := b.steal()
	if err != nil {
		return -1
	}
	return ns
}

// prepare makes an entry's case ready. why is the reason of a contender that has nothing for
// the case; an error is a refusal worth showing: wrong outputs, a crash.
func (b *bench) prepare(ctx context.Context, e entry, threads int) (l *lane, why string, err error) {
	c, err := b.contender(e, threads)
	if err != nil {
		return nil, err.Error(), nil // not installed: the header says so
	}
	q := e.ask
	q.Verb = verbPrepare
	rep, err := b.ask(ctx, e, threads, c, q)
	switch {
	case err != nil:
		return nil, "", err
	case rep.Error != "" && rep.Unsupported:
		return nil, rep.Error, nil
	case rep.Error != "":
		return nil, "", fmt.Errorf("%s", rep.Error)
	case rep.Checked == "":
		return nil, "", fmt.Errorf("its outputs were not checked")
	case !(rep.LaunchNS > 0):
		return nil, "", fmt.Errorf("it took %v ns for one launch", rep.LaunchNS)
	}
	b.versions[e.maker] = rep.Version
	l = &lane{entry: e, c: c, rep: rep}
	part := float64(b.Sample) / subSamples
	l.launches, l.samples = max(1, int(math.Round(part/rep.LaunchNS))), subSamples
	if rep.LaunchNS > part {
		l.samples = max(1, int(float64(b.Sample)/rep.LaunchNS))
	}
	return l, "", nil
}

// leastRounds are the fewest that a comparison rests on: of 7, all enclose the median with 98 %.
const leastRounds = 7

// rounds is how many rounds of the lanes the budget allows.
func (b *bench) rounds(lanes []*lane) int {
	var one time.Duration
	for _, l := range lanes {
		one += b.Idle + time.Duration(l.rep.LaunchNS*float64(l.launches*(l.samples+1)))
	}
	return max(leastRounds, min(b.Rounds, int(b.Budget/max(one, 1))))
}

// pilots is how many pilot rounds a third of the budget allows, at least one.
func (b *bench) pilots(lanes []*lane) int {
	var one float64
	for _, l := range lanes {
		one += float64(b.Idle) + l.rep.LaunchNS*float64(l.launches*(l.samples+1))
	}
	return max(1, min(b.Pilot, int(float64(b.Budget)/3/max(one, 1))))
}

// hopelessFloor is the first launch of a peer that is always borne: libraries compile and allocate in it.
const hopelessFloor = 100e6

// values takes one of every lane, in order, every other round in reverse.
func (b *bench) values(ctx context.Context, lanes []*lane, threads, i int) (map[*lane]float64, error) {
	order := slices.Clone(lanes)
	if i%2 == 1 {
		slices.Reverse(order)
	}
	out := map[*lane]float64{}
	for _, l := range order {
		ns, err := b.sample(ctx, l, threads)
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", l.name, err)
		}
		out[l] = ns
	}
	return out, nil
}

// Another process on the contender's CPUs spoils a sample: when its threads waited for a CPU
// for more than this part of it, it is taken again, at most so often; the least disturbed counts.
const (
	disturbed = 0.03
	again     = 2
	handOver  = 1e6 // ns of waiting that go with waking the threads before the first batch
)

// sample takes one value of a lane.
func (b *bench) sample(ctx context.Context, l *lane, threads int) (float64, error) {
	var value float64
	least := math.Inf(1)
	for range 1 + again {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(b.Idle):
		}
		rep, err := b.ask(ctx, l.entry, threads, l.c, request{Verb: verbMeasure, Launches: l.launches, Samples: l.samples})
		switch {
		case err != nil:
			return 0, err
		case rep.Error != "":
			return 0, fmt.Errorf("%s", rep.Error)
		case len(rep.NS) != l.samples:
			return 0, fmt.Errorf("%d samples of %d", len(rep.NS), l.samples)
		}
		var total float64
		for _, ns := range rep.NS {
			total += ns * float64(l.launches)
		}
		if share := max(0, rep.WaitedNS-handOver) / total; share < least {
			least, value = share, measure.Median(rep.NS)
		}
		if least <= disturbed {
			return value, nil
		}
		l.repeats++
	}
	l.disturbed++
	return value, nil
}

// finalists are the probes, the better of our entries, and the peers that came near the best
// of them in the pilot: what is compared should be measured close together.
func (b *bench) finalists(lanes []*lane) []*lane {
	by := func(role string) []*lane {
		var out []*lane
		for _, l := range lanes {
			if l.role == role && l.rep.Lesser == "" {
				out = append(out, l)
			}
		}
		slices.SortStableFunc(out, func(x, y *lane) int { return cmpFloat(slices.Min(x.pilot), slices.Min(y.pilot)) })
		return out
	}
	out := slices.Concat(by(probe), by(ours)[:1])
	for i, p := range by(peer) {
		if i > 0 && (i >= b.KeepMax || slices.Min(p.pilot) > b.Keep*slices.Min(by(peer)[0].pilot)) {
			break
		}
		out = append(out, p)
	}
	return out
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// figures of one contender in a row.
type figures struct {
	Name    string    `json:"name"`
	Version string    `json:"version,omitempty"`
	Kernel  string    `json:"kernel,omitempty"`
	Checked string    `json:"checked"`
	Lesser  string    `json:"lesser,omitempty"` // why it is no match for the others
	NS      interval  `json:"ns"`               // one launch
	Best    float64   `json:"best_ns"`
	Rounds  int       `json:"rounds"`
	Pilot   bool      `json:"pilot_only,omitempty"` // left after the pilot rounds
	Samples []float64 `json:"samples_ns"`
	// Samples taken again because other processes had the CPUs, and rounds that stayed disturbed.
	Repeats   int `json:"repeats,omitempty"`
	Disturbed int `json:"disturbed,omitempty"`

	Rate float64 `json:"rate,omitempty"` // of a probe: its work per ns
}

// result is one measured row.
type result struct {
	ID      string       `json:"id"`
	Date    string       `json:"date"`
	Group   string       `json:"group"`
	Label   string       `json:"label"`
	Op      string       `json:"op"`
	DType   record.DType `json:"dtype"`
	Threads int          `json:"threads"`
	Network string       `json:"network,omitempty"` // the layers of one network are added up
	Count   int          `json:"count,omitempty"`   // how often the network has this layer
	FLOPs   int64        `json:"flops"`
	Bytes   int64        `json:"bytes"`
	Metric  string       `json:"metric"` // gflops, gbps or ns

	Version        string            `json:"ridge"` // revision of the code
	Settings       string            `json:"settings"`
	PrepareSeconds float64           `json:"prepare_seconds"`
	Seconds        float64           `json:"seconds"`     // the row in all
	StealShare     float64           `json:"steal_share"` // of the row's CPU time; -1 unknown
	Ours           figures           `json:"ours"`
	OursOther      []figures         `json:"ours_other,omitempty"` // our other layouts, from the pilot
	Peers          []figures         `json:"peers"`                // the fastest first
	Probes         []figures         `json:"probes,omitempty"`
	Refused        map[string]string `json:"refused,omitempty"` // contender: why
	// Ratio is the best peer's time over ours: above 1, ours is faster.
	Ratio *interval `json:"ratio,omitempty"`
	// OfProbe is the part of the machine's limit, as the probes of the same rounds show it.
	OfProbe *interval `json:"of_probe,omitempty"`
}

// judge fills in the figures from the rounds.
func (r *result) judge(lanes []*lane) error {
	var us *lane
	var peers, probes []lane
	for _, l := range lanes {
		f := figures{Name: l.name, Lesser: l.rep.Lesser, Version: l.rep.Version, Kernel: l.rep.Kernel, Checked: l.rep.Checked, Samples: l.ns,
			Repeats: l.repeats, Disturbed: l.disturbed}
		if len(l.ns) == 0 {
			f.Samples, f.Pilot = l.pilot, true
		}
		var err error
		if f.NS, err = summarize(f.Samples); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		f.Rounds, f.Best = len(f.Samples), slices.Min(f.Samples)
		switch {
		case l.role == probe:
			f.Rate = l.probeWork / f.NS.Median
			r.Probes, probes = append(r.Probes, f), append(probes, *l)
		case l.role == peer:
			r.Peers = append(r.Peers, f)
			if !f.Pilot {
				peers = append(peers, *l)
			}
		case f.Pilot: // another of our entries: shown with the peers, never the one to beat
			r.OursOther = append(r.OursOther, f)
		default:
			r.Ours, us = f, l
		}
	}
	slices.SortStableFunc(r.Peers, func(a, b figures) int {
		if a.Pilot != b.Pilot {
			return map[bool]int{false: -1, true: 1}[a.Pilot]
		}
		return cmpFloat(a.NS.Median, b.NS.Median)
	})
	if len(peers) > 0 { // then the first peer is one of them: it stayed after the pilot
		best := peers[slices.IndexFunc(peers, func(l lane) bool { return l.name == r.Peers[0].Name })]
		x, err := ratios(best.ns, us.ns)
		if err != nil {
			return err
		}
		i, err := summarize(x)
		if err != nil {
			return err
		}
		r.Ratio = &i
	}
	if len(probes) > 0 {
		x, err := ratios(floors(probes, len(us.ns)), us.ns)
		if err != nil {
			return err
		}
		i, err := summarize(x)
		if err != nil {
			return err
		}
		r.OfProbe = &i
	}
	return nil
}
