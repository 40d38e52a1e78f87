package history

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"ridge/goharness/report"
)

// Plot draws a trend as SVG: every run, the levels between the changes, and the changes.
func (t *Trend) Plot(w io.Writer) error {
	ps := t.measured()
	if len(ps) == 0 {
		return fmt.Errorf("trend of %s: no run has a value to draw", t.Case)
	}
	p := plot.New()
	p.Title.Text = report.Plain(t.Case)
	p.Y.Label.Text = string(t.Metric) + " (" + t.Unit + ")"
	p.X.Label.Text = "run"
	x := func(i int) float64 { return float64(i) }
	if first, err := time.Parse(time.RFC3339, ps[0].Created); err == nil {
		last, err := time.Parse(time.RFC3339, ps[len(ps)-1].Created)
		if err == nil && last.Sub(first) > time.Minute {
			p.X.Label.Text = "time (UTC)"
			p.X.Tick.Marker = plot.TimeTicks{Format: "2006-01-02\n15:04"}
			x = func(i int) float64 {
				at, err := time.Parse(time.RFC3339, ps[i].Created)
				if err != nil {
					return math.NaN()
				}
				return float64(at.Unix())
			}
		}
	}
	var pts plotter.XYs
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, q := range ps {
		if at := x(i); !math.IsNaN(at) {
			pts = append(pts, plotter.XY{X: at, Y: q.Value})
		}
		lo, hi = math.Min(lo, q.Value), math.Max(hi, q.Value)
	}
	dots, err := plotter.NewScatter(pts)
	if err != nil {
		return fmt.Errorf("trend of %s: %w", t.Case, err)
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: color.RGBA{R: 70, G: 110, B: 170, A: 255}, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}
	p.Add(plotter.NewGrid(), dots)
	edges := []int{0}
	for _, c := range t.Changes {
		edges = append(edges, c.at)
	}
	edges = append(edges, len(ps))
	for i := range edges[1:] {
		level := 0.0
		switch {
		case len(t.Changes) == 0:
			level = math.NaN()
		case i == 0:
			level = t.Changes[0].Before
		default:
			level = t.Changes[i-1].After
		}
		if math.IsNaN(level) {
			continue
		}
		if err := line(p, x(edges[i]), level, x(edges[i+1]-1), level, color.RGBA{R: 200, G: 80, B: 40, A: 255}); err != nil {
			return err
		}
		if i > 0 {
			if err := line(p, x(edges[i]), lo, x(edges[i]), hi, color.Gray{Y: 150}); err != nil {
				return err
			}
		}
	}
	canvas := vgsvg.New(9*vg.Inch, 4*vg.Inch)
	p.Draw(draw.New(canvas))
	_, err = canvas.WriteTo(w)
	return err
}

func line(p *plot.Plot, x0, y0, x1, y1 float64, c color.Color) error {
	if math.IsNaN(x0) || math.IsNaN(x1) {
		return nil
	}
	l, err := plotter.NewLine(plotter.XYs{{X: x0, Y: y0}, {X: x1, Y: y1}})
	if err != nil {
		return err
	}
	l.Color, l.Width = c, vg.Points(1.5)
	p.Add(l)
	return nil
}
