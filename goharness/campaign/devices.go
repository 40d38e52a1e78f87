package campaign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/record"
)

// DeviceError is one of several devices that could not be measured, or not to the end. The document has what was measured, of the others all.
type DeviceError struct {
	Device string
	Err    error
}

func (e *DeviceError) Error() string { return "device " + e.Device + ": " + e.Err.Error() }

func (e *DeviceError) Unwrap() error { return e.Err }

// notBegunError is an interruption that --resume cannot go on from.
type notBegunError struct{ error }

func (notBegunError) Error() string {
	return "interrupted before anything was measured: repeat the command"
}

func (e notBegunError) Unwrap() error { return e.error }

// tour is a run over devices, each by a worker of its own: one journal and one document.
type tour struct {
	stops      []*campaign
	concurrent bool // all at the same time, else one after the other
	journal    *record.Journal
	reached    int // stops that measuring has begun at
}

// RunEach runs a campaign on each of several devices, which the plans name, one after the other or (Config.Concurrent of the first) all at the same
// time; what else a run has once is the first's: directory, command, view.
// A device that is lost leaves the others; the error is then a *DeviceError.
func RunEach(ctx context.Context, cfgs []Config) (record.Calibration, error) {
	t := &tour{concurrent: len(cfgs) > 0 && cfgs[0].Concurrent}
	var view View
	if t.concurrent {
		if err := checkTogether(cfgs); err != nil {
			return record.Calibration{}, err
		}
		if view = cfgs[0].View; view == nil {
			view = silent{}
		}
		view = &locked{view: view}
	}
	for _, cfg := range cfgs {
		cfg.beside = others(cfgs, cfg.Plan.Device)
		if cfg.Concurrent = t.concurrent; t.concurrent {
			cfg.View = view
		}
		c := newCampaign(cfg)
		defer c.close()
		t.stops = append(t.stops, c)
	}
	if len(t.stops) == 0 {
		return record.Calibration{}, errors.New("a run without a device")
	}
	if err := t.begin(ctx); err != nil {
		if ctx.Err() != nil { // whatever it ended in: the clock, a start, a check
			err = notBegunError{ctx.Err()}
		}
		return t.document(), err
	}
	measure := t.measure
	if t.concurrent {
		measure = t.measureTogether
	}
	err := measure(ctx)
	if jerr := t.end(err); jerr != nil && err == nil {
		err = jerr
	}
	return t.document(), err
}

// others are the devices of a run but one.
func others(cfgs []Config, but string) []string {
	var out []string
	for _, cfg := range cfgs {
		if cfg.Plan.Device != but {
			out = append(out, cfg.Plan.Device)
		}
	}
	return out
}

// alone: the only device, whose failure is that of the run.
func (t *tour) alone() bool { return len(t.stops) == 1 }

// begin plans for all devices, so that the journal knows what the run shall measure, and reads their clocks.
func (t *tour) begin(ctx context.Context) error {
	for i, c := range t.stops {
		if i > 0 {
			c.doc.RunID, c.doc.Created, c.cfg.SkipPreflight = t.stops[0].doc.RunID, t.stops[0].doc.Created, true
		}
		if err := c.prepare(); err != nil {
			return err
		}
	}
	for i, c := range t.stops {
		err := c.begin(ctx)
		if i > 0 {
			c.doc.Preflight = t.stops[0].doc.Preflight
		}
		if !t.alone() {
			c.runner.Close() // its worker would hold the device's memory while others are measured
		}
		var preflight *PreflightError
		if err != nil && (t.alone() || ctx.Err() != nil || errors.As(err, &preflight)) {
			return err
		}
		if err != nil {
			c.lose(err)
		}
	}
	if t.alone() || slices.ContainsFunc(t.stops, func(c *campaign) bool { return c.lost == nil }) {
		return t.openJournal()
	}
	return fmt.Errorf("no device is left: %s: %w", t.stops[0].cfg.Plan.Device, t.stops[0].lost)
}

// lose leaves a device out from here on.
func (c *campaign) lose(err error) {
	c.lost = err
	c.cfg.View.Warn("device %s is left out from here on: %v", c.cfg.Plan.Device, err)
}

// measure goes from device to device.
func (t *tour) measure(ctx context.Context) error {
	for i, c := range t.stops {
		t.reached = i + 1
		if c.lost != nil {
			continue
		}
		if i > 0 {
			c.started = c.cfg.Now() // its time begins now
		}
		err := c.measureDevice(ctx)
		var full *record.WriteError
		if err != nil && (t.alone() || ctx.Err() != nil || errors.As(err, &full)) {
			return err
		}
		if err != nil {
			c.lose(err)
		}
	}
	return t.lostOne()
}

// end closes the journal of a run that ended with an error, or none.
func (t *tour) end(err error) error {
	if t.journal == nil {
		return nil
	}
	first := t.stops[0]
	end := record.End{Complete: err == nil, WallSeconds: first.wall()}
	for _, c := range t.stops {
		end.Warnings = append(end.Warnings, c.disturbed...)
	}
	if err != nil {
		end.Reason = err.Error()
	}
	var full *record.WriteError
	var werr error
	if !errors.As(err, &full) {
		werr = t.journal.Append(record.Entry{Kind: record.EntryEnd, End: &end})
	}
	return errors.Join(werr, t.journal.Close())
}

// document joins what was measured on the devices.
func (t *tour) document() record.Calibration {
	first := t.stops[0]
	doc := first.doc
	if t.alone() {
		return doc
	}
	// Slices of the first are not to grow into each other.
	doc.Devices, doc.Ceilings, doc.Results, doc.FusionProfiles, doc.Energy = nil, nil, nil, nil, nil
	var warnings []string
	if t.concurrent {
		warnings = append(warnings, "the devices were measured at the same time: ceilings and results are what each reaches beside the others (conditions.concurrent of a result names them)")
	}
	complete, resumed := true, 0
	for i, c := range t.stops {
		d := c.doc
		if c.cfg.Accelerator == nil {
			doc.Host = d.Host // with the clocks of the CPU
		}
		doc.Devices, doc.Ceilings = append(doc.Devices, d.Devices...), append(doc.Ceilings, d.Ceilings...)
		doc.Results, doc.FusionProfiles = append(doc.Results, d.Results...), append(doc.FusionProfiles, d.FusionProfiles...)
		if d.Energy != nil {
			doc.Energies = append(doc.Energies, *d.Energy)
		}
		for _, w := range d.Summary.Warnings {
			if !strings.HasPrefix(w, c.cfg.Plan.Device+" ") {
				w = c.cfg.Plan.Device + ": " + w
			}
			warnings = append(warnings, w)
		}
		if c.lost != nil {
			warnings = append(warnings, fmt.Sprintf("%s: it was left out: %v", c.cfg.Plan.Device, c.lost))
		}
		resumed, complete = resumed+d.Summary.Resumed, complete && i < t.reached && d.Summary.Complete
	}
	doc.Summary = record.Summarize(doc.Results)
	doc.Summary.Quick, doc.Summary.Complete, doc.Summary.Resumed = first.cfg.Plan.Quick, complete, resumed
	doc.Summary.Warnings = append(doc.Summary.Warnings, warnings...)
	doc.Summary.Plateaus = first.doc.Summary.Plateaus // they name no device
	doc.Summary.WallSeconds = first.wall()
	return doc
}
