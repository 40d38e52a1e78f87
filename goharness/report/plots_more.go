package report

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"ridge/goharness/record"
)

func drawBandwidthSweep(d *record.Calibration, device string, _ []record.Fusion) (*plot.Plot, vg.Length, error) {
	read, _ := sweepPoints(d, device)
	return drawSweep(read, "Read bandwidth (GB/s)", roofOf(d, device).Read)
}

func drawLatencySweep(d *record.Calibration, device string, _ []record.Fusion) (*plot.Plot, vg.Length, error) {
	_, latency := sweepPoints(d, device)
	p, height, err := drawSweep(latency, "Latency of a dependent load (ns)", nil)
	if p == nil || err != nil {
		return p, height, err
	}
	for _, l := range plateausOf(d) {
		from, to, ns := float64(l.FromBytes), float64(l.ToBytes), l.LatencyNS
		if ns < valueAt(&p.Y, p.Y.Min) || ns > valueAt(&p.Y, p.Y.Max) || from < valueAt(&p.X, p.X.Min) || to > valueAt(&p.X, p.X.Max) || to <= from {
			continue
		}
		if err := addLine(p, grey, true, plotter.XY{X: from, Y: ns}, plotter.XY{X: to, Y: ns}); err != nil {
			return nil, 0, err
		}
		if err := addText(p, from, ns*1.12, strings.TrimSpace(clean(l.Level)+" "+digits(ns)+" ns"), false); err != nil {
			return nil, 0, err
		}
	}
	return p, height, nil
}

func drawSweep(points []sweepPoint, name string, ceilings []limit) (*plot.Plot, vg.Length, error) {
	if len(points) == 0 {
		return nil, 0, nil
	}
	var xs, ys []float64
	var marks []mark
	var path plotter.XYs
	for _, s := range points {
		xs, ys = append(xs, float64(s.Bytes)), append(ys, s.Value)
		marks = append(marks, mark{float64(s.Bytes), s.Value, s.Low, s.High, s.Status != record.OK})
		path = append(path, plotter.XY{X: float64(s.Bytes), Y: s.Value})
	}
	for _, l := range ceilings {
		ys = append(ys, l.Value)
	}
	p := newPlot("Size of the buffer", name)
	logarithmic(&p.X, xs, 2, sizeTick)
	logarithmic(&p.Y, ys, 10, tick)
	left, right := valueAt(&p.X, p.X.Min), valueAt(&p.X, p.X.Max)
	for i, l := range ceilings {
		if err := addLine(p, grey, true, plotter.XY{X: left, Y: l.Value}, plotter.XY{X: right, Y: l.Value}); err != nil {
			return nil, 0, err
		}
		at := right
		if i%2 == 1 {
			at = left
		}
		if err := addText(p, at, l.Value, l.Name+" "+digits(l.Value), i%2 == 0); err != nil {
			return nil, 0, err
		}
	}
	if err := addLine(p, precisionColors[1], false, path...); err != nil {
		return nil, 0, err
	}
	return p, plotHeight, addMarks(p, marks, precisionColors[1], "", valueAt(&p.Y, p.Y.Min), valueAt(&p.Y, p.Y.Max))
}

// drawUtilisation shows what memory-bound results take of the bandwidth of their level.
func drawUtilisation(d *record.Calibration, device string, _ []record.Fusion) (*plot.Plot, vg.Length, error) {
	of := map[string][]mark{}
	var xs []float64
	top := 100.0
	for i := range d.Results {
		r := &d.Results[i]
		if r.Device != device || r.Probe() || !r.Status.Counts() || r.Time == nil || r.Ceiling == nil || r.Ceiling.MemoryGBps <= 0 || r.Ceiling.Bound != "memory" || r.WorkingSetBytes <= 0 || r.BandwidthGBps <= 0 {
			continue
		}
		share := 100 * r.BandwidthGBps / r.Ceiling.MemoryGBps
		if !(share < 1e4) { // of no machine
			continue
		}
		low, high := overTime(share, r.Time)
		level := orNone(r.Ceiling.MemoryLevel)
		of[level] = append(of[level], mark{float64(r.WorkingSetBytes), share, low, high, r.Status != record.OK})
		xs, top = append(xs, float64(r.WorkingSetBytes)), max(top, share)
	}
	if len(xs) == 0 {
		return nil, 0, nil
	}
	p := newPlot("Working set", "Of the measured bandwidth of its level (%)")
	logarithmic(&p.X, xs, 2, sizeTick)
	p.Y.Min, p.Y.Max = 0, 1.05*top
	if err := addLine(p, grey, true, plotter.XY{X: valueAt(&p.X, p.X.Min), Y: 100}, plotter.XY{X: valueAt(&p.X, p.X.Max), Y: 100}); err != nil {
		return nil, 0, err
	}
	for n, level := range levelNames(of) {
		if err := addMarks(p, of[level], precisionColors[(3*n+1)%len(precisionColors)], level, 0, p.Y.Max); err != nil {
			return nil, 0, err
		}
	}
	p.Y.Max /= 1 - .03 - .05*float64(min(len(of), 10)) // room for the legend above what is drawn
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs = vg.Points(6)
	return p, plotHeight, nil
}

// levelNames are the keys, levels from the core outwards first, what lies between two behind the inner one.
func levelNames(of map[string][]mark) []string {
	var out []string
	for n := range of {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b string) int {
		inner, _, _ := strings.Cut(a, "-")
		other, _, _ := strings.Cut(b, "-")
		return cmp.Or(cmp.Compare(order(levels, inner), order(levels, other)), cmp.Compare(a, b))
	})
	return out
}

var verdictColors = map[string]color.RGBA{"strong": {26, 127, 75, 255}, "moderate": {9, 105, 200, 255}, "minimal": grey, "slower": {192, 38, 45, 255}, "inconclusive": {185, 137, 0, 255}}

// mostPatterns are drawn: a picture grows with them.
const mostPatterns = 150

// drawFusion has a row for each pattern: its shapes from the smallest at the top to the largest.
func drawFusion(d *record.Calibration, device string, profiles []record.Fusion) (*plot.Plot, vg.Length, error) {
	var patterns []pagePattern
	for i := range profiles {
		if profiles[i].Device.ID != device {
			continue
		}
		for _, p := range profiles[i].Patterns {
			if q := patternOf(p); len(q.Shapes) > 0 {
				patterns = append(patterns, q)
			}
		}
	}
	if len(patterns) == 0 {
		return nil, 0, nil
	}
	more := ""
	if n := len(patterns); n > mostPatterns {
		patterns, more = patterns[:mostPatterns], fmt.Sprintf("; the first %d of %d patterns", mostPatterns, n)
	}
	p := newPlot("Speed-up (unfused / fused time), 95 % interval; dashed: 0.95, 1.1, 1.5"+more, " ")
	var ticks []plot.Tick
	of := map[string]plotter.XYs{}
	low, high := .8, 1.7
	for _, q := range patterns {
		for _, s := range q.Shapes {
			low, high = min(low, s.Speedup), max(high, s.Speedup)
		}
	}
	low, high = max(.1, low/1.2), min(50, high*1.3) // intervals may leave the frame
	for i, q := range patterns {
		row := float64(len(patterns) - 1 - i)
		ticks = append(ticks, plot.Tick{Value: row, Label: q.Name})
		for k, s := range q.Shapes {
			y := row
			if n := len(q.Shapes); n > 1 {
				y += .28 - .56*float64(k)/float64(n-1)
			}
			verdict := s.Verdict
			if _, known := verdictColors[verdict]; !known {
				verdict = "inconclusive"
			}
			of[verdict] = append(of[verdict], plotter.XY{X: max(low, min(high, s.Speedup)), Y: y})
			if s.High > 0 {
				line, err := plotter.NewLine(plotter.XYs{{X: min(high, max(low, s.Low)), Y: y}, {X: max(low, min(high, s.High)), Y: y}})
				if err != nil {
					return nil, 0, err
				}
				line.Color, line.Width = verdictColors[verdict], vg.Points(1)
				p.Add(line)
			}
		}
	}
	for _, cut := range []float64{.95, 1.1, 1.5} {
		if err := addLine(p, grey, true, plotter.XY{X: cut, Y: -.6}, plotter.XY{X: cut, Y: float64(len(patterns)) - .4}); err != nil {
			return nil, 0, err
		}
	}
	var named []string // in the legend
	for _, v := range []string{"strong", "moderate", "minimal", "slower", "inconclusive"} {
		if len(of[v]) == 0 {
			continue
		}
		named = append(named, v)
		s, err := plotter.NewScatter(of[v])
		if err != nil {
			return nil, 0, err
		}
		s.Color, s.Radius, s.Shape = verdictColors[v], vg.Points(2.6), draw.CircleGlyph{}
		p.Add(s)
		p.Legend.Add(v, s)
	}
	p.Legend.Top = true
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	// The legend has rows of its own: wide intervals cross the whole picture.
	rows := float64(len(patterns)) + .9*float64(len(named))
	p.Y.Min, p.Y.Max, p.X.Min, p.X.Max = -.6, rows-.4, low, high
	return p, vg.Length(1.4+.21*rows) * vg.Inch, nil
}

func drawEfficiency(d *record.Calibration, device string, _ []record.Fusion) (*plot.Plot, vg.Length, error) {
	of := map[string][]mark{}
	var xs, ys []float64
	for i := range d.Results {
		r := &d.Results[i]
		e := energyOf(r)
		if r.Device != device || e.perWatt <= 0 || r.GFLOPS <= 0 {
			continue
		}
		// The uncertainty of the energy is what the meter knows of the efficiency.
		m := mark{x: r.GFLOPS, y: e.perWatt, low: e.perWatt, high: e.perWatt, noisy: r.Status != record.OK}
		if e.half > 0 && e.half < 1 {
			m.low, m.high = e.perWatt/(1+e.half), e.perWatt/(1-e.half)
		}
		dtype := clean(string(r.DType))
		of[dtype] = append(of[dtype], m)
		xs, ys = append(xs, m.x), append(ys, m.y)
	}
	if len(xs) == 0 {
		return nil, 0, nil
	}
	p := newPlot("Performance (GFLOPS; GOPS for integers)", "Efficiency (GFLOPS per watt; GOPS for integers)")
	logarithmic(&p.X, xs, 10, tick)
	logarithmic(&p.Y, ys, 10, tick)
	return p, plotHeight, addByName(p, of)
}
