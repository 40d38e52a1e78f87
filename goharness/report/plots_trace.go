package report

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"ridge/goharness/power"
	"ridge/goharness/record"
)

// WriteTracePlots draws a power trace (the CSV of --power-trace) as SVG and PNG files in a folder, which it makes, and names the
// files: what ran over time, and under it power, clock and temperature on the same axis. name is the trace's, for title and files.
func WriteTracePlots(dir, name string, r io.Reader) ([]string, error) {
	rows, err := power.ReadTrace(r)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the plots: %w", err)
	}
	title := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	var files []string
	for _, format := range []string{"svg", "png"} {
		file := filepath.Join(dir, slug(title)+"-power-trace."+format)
		var b bytes.Buffer
		if err := drawTrace(&b, rows, "Power trace · "+clean(title), format); err != nil {
			return files, fmt.Errorf("drawing %s: %w", file, err)
		}
		if err := record.WriteFile(file, b.Bytes()); err != nil {
			return files, err
		}
		files = append(files, file)
	}
	return files, nil
}

const (
	laneHeight  = .28 * vg.Inch
	panelHeight = 1.7 * vg.Inch
	lanesShown  = 12 // kernels with a lane of their own; the rest shares one
)

// drawTrace stacks the timeline and the panels that have data; their time axes are aligned.
func drawTrace(w io.Writer, rows []power.TraceRow, title, format string) error {
	top, lanes := drawLanes(rows)
	top.Title.Text = title
	plots, heights := [][]*plot.Plot{{top}}, []vg.Length{vg.Length(lanes)*laneHeight + vg.Inch}
	for _, x := range []struct {
		label string
		of    func(power.TraceRow) (float64, bool)
	}{
		{"Power (W)", func(r power.TraceRow) (float64, bool) { return r.Watts, r.HasWatts }},
		{"Clock (MHz)", func(r power.TraceRow) (float64, bool) { return r.ClockMHz, r.ClockMHz > 0 }},
		{"Temperature (°C)", func(r power.TraceRow) (float64, bool) { return r.TemperatureC, r.TemperatureC != 0 }},
	} {
		p, err := drawReadings(rows, x.label, x.of)
		if err != nil {
			return err
		}
		if p != nil {
			plots, heights = append(plots, []*plot.Plot{p}), append(heights, panelHeight)
		}
	}
	from, to := seconds(rows[0]), seconds(rows[len(rows)-1])
	if to <= from {
		to = from + 1
	}
	var height vg.Length
	for i := range plots {
		plots[i][0].X.Min, plots[i][0].X.Max = from, to
		height += heights[i]
	}
	plots[len(plots)-1][0].X.Label.Text = "Time (s)"
	c, err := draw.NewFormattedCanvas(plotWidth, height, format)
	if err != nil {
		return err
	}
	for i, part := range plot.Align(plots, draw.Tiles{Rows: len(plots), Cols: 1}, draw.NewCanvas(c, plotWidth, height)) {
		part[0].Min.Y, part[0].Max.Y = stacked(heights, i, height)
		plots[i][0].Draw(part[0])
	}
	_, err = c.WriteTo(w)
	return err
}

// stacked is the place of the panel i, the first on top.
func stacked(heights []vg.Length, i int, total vg.Length) (low, high vg.Length) {
	high = total
	for _, h := range heights[:i] {
		high -= h
	}
	return high - heights[i], high
}

func seconds(r power.TraceRow) float64 { return r.At.Seconds() }

// bar is a stretch of time in which one thing ran.
type bar struct{ from, to float64 }

// drawLanes draws what ran: idle baselines, timing, and the kernel of each sustain phase in a lane of its own.
func drawLanes(rows []power.TraceRow) (*plot.Plot, int) {
	bars, total := map[string][]bar{}, map[string]time.Duration{}
	last, lastCase := "", ""
	for i := 1; i < len(rows); i++ { // a row tells of the time since the one above
		r := rows[i]
		lane := laneOf(r)
		from, to := seconds(rows[i-1]), seconds(r)
		if list := bars[lane]; lane == last && r.Case == lastCase && len(list) > 0 {
			list[len(list)-1].to = to
		} else {
			bars[lane] = append(list, bar{from, to})
		}
		total[lane] += r.At - rows[i-1].At
		last, lastCase = lane, r.Case
	}
	delete(bars, "")
	names := slices.SortedFunc(maps.Keys(bars), func(a, b string) int { return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b)) })
	if len(names) > lanesShown {
		const rest = "other kernels"
		var others []bar
		for _, n := range names[lanesShown:] {
			others = append(others, bars[n]...)
		}
		slices.SortFunc(others, func(a, b bar) int { return cmp.Compare(a.from, b.from) })
		names, bars = append(names[:lanesShown:lanesShown], rest), maps.Clone(bars)
		bars[rest] = others
	}
	first := func(n string) float64 {
		return slices.MinFunc(bars[n], func(a, b bar) int { return cmp.Compare(a.from, b.from) }).from
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(first(b), first(a)) }) // the first on top
	p := newPlot("", "")
	var ticks []plot.Tick
	for i, n := range names {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: " " + clipped(n, 44)}) // the first letter would touch the edge
		p.Add(barsOf{bars[n], float64(i), precisionColors[i%len(precisionColors)]})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Label.Font.Size = vg.Points(8)
	p.Y.Min, p.Y.Max = -.6, max(.6, float64(len(names))-.4)
	return p, max(1, len(names))
}

// laneOf is where a row belongs; "" where nothing ran.
func laneOf(r power.TraceRow) string {
	switch {
	case r.Kernel != "":
		return clean(r.Kernel)
	case r.Phase != "":
		return clean(r.Phase)
	}
	return ""
}

func clipped(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// barsOf draws a lane.
type barsOf struct {
	bars  []bar
	lane  float64
	color color.Color
}

func (b barsOf) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	low, high, end := y(b.lane-.35), y(b.lane+.35), vg.Length(-1)
	for i, s := range b.bars {
		from, to := x(s.from), max(x(s.to), x(s.from)+vg.Points(.4))
		if to <= end && i > 0 { // hidden by the one before: a long run has thousands
			continue
		}
		end = to
		c.FillPolygon(b.color, []vg.Point{{X: from, Y: low}, {X: to, Y: low}, {X: to, Y: high}, {X: from, Y: high}})
	}
}

// drawReadings draws a sensor over time; nil where it was never read. Gaps stay open.
func drawReadings(rows []power.TraceRow, label string, of func(power.TraceRow) (float64, bool)) (*plot.Plot, error) {
	p := newPlot("", label)
	high, read := 0.0, false
	var part plotter.XYs
	end := func() error {
		points := thin(part)
		part = nil
		switch {
		case len(points) == 0:
			return nil
		case len(points) == 1:
			s, err := plotter.NewScatter(points)
			if err == nil {
				s.Color, s.Radius, s.Shape = precisionColors[1], vg.Points(1), draw.CircleGlyph{}
				p.Add(s)
			}
			return err
		}
		return addLine(p, precisionColors[1], false, points...)
	}
	for _, r := range rows {
		v, known := of(r)
		if known {
			part, read, high = append(part, plotter.XY{X: seconds(r), Y: v}), true, max(high, v)
		} else if err := end(); err != nil {
			return nil, err
		}
	}
	if !read {
		return nil, nil
	}
	if err := end(); err != nil {
		return nil, err
	}
	p.Y.Min, p.Y.Max = min(p.Y.Min, 0), max(1, 1.08*high)
	return p, nil
}

// columns is how many points beside each other a line can show.
const columns = 1500

// thin keeps the least and the greatest value of each column of the plot, so that a trace of hours stays a small file.
func thin(points plotter.XYs) plotter.XYs {
	if len(points) <= 2*columns {
		return points
	}
	var out plotter.XYs
	for i := range columns {
		part := points[i*len(points)/columns : (i+1)*len(points)/columns]
		byValue := func(a, b plotter.XY) int { return cmp.Compare(a.Y, b.Y) }
		low, high := slices.MinFunc(part, byValue), slices.MaxFunc(part, byValue)
		if high.X < low.X {
			low, high = high, low
		}
		out = append(out, low, high)
	}
	return out
}
