package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"ridge/goharness/record"
)

// WritePlots draws each device of each document as SVG and PNG files in a folder, which it makes, and names the files. A plot
// without data is left out.
func WritePlots(dir string, docs []record.Calibration) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the plots: %w", err)
	}
	var files []string
	names, used := labels(docs), map[string]bool{}
	for i := range docs {
		profiles, err := record.FusionProfiles(&docs[i])
		if err != nil {
			return nil, err
		}
		for _, dev := range docs[i].Devices {
			base := slug(names[i] + " " + dev.ID)
			for n := 2; used[base]; n++ {
				base = fmt.Sprintf("%s-%d", slug(names[i]+" "+dev.ID), n)
			}
			used[base] = true
			for _, d := range drawings {
				p, height, err := d.draw(&docs[i], dev.ID, profiles)
				if err != nil {
					return files, fmt.Errorf("drawing %s of %s: %w", d.name, base, err)
				}
				if p == nil {
					continue
				}
				p.Title.Text = d.title + " · " + names[i]
				if len(docs[i].Devices) > 1 {
					p.Title.Text += " · " + clean(dev.ID)
				}
				for _, format := range []string{"svg", "png"} {
					file := filepath.Join(dir, base+"-"+d.name+"."+format)
					if err := savePlot(p, height, format, file); err != nil {
						return files, err
					}
					files = append(files, file)
				}
			}
		}
	}
	return files, nil
}

// drawings of one device; nil where there is nothing to draw.
var drawings = []struct {
	name, title string
	draw        func(d *record.Calibration, device string, profiles []record.Fusion) (*plot.Plot, vg.Length, error)
}{
	{"roofline", "Roofline", drawRoofline},
	{"bandwidth", "Read bandwidth over the size of the buffer", drawBandwidthSweep},
	{"bandwidth-utilisation", "Bandwidth utilisation", drawUtilisation},
	{"latency", "Latency over the size of the buffer", drawLatencySweep},
	{"fusion", "Speed-up by fusion", drawFusion},
	{"power-efficiency", "Power efficiency", drawEfficiency},
}

const (
	plotWidth  = 8 * vg.Inch
	plotHeight = 5 * vg.Inch
)

func savePlot(p *plot.Plot, height vg.Length, format, file string) error {
	w, err := p.WriterTo(plotWidth, height, format)
	if err != nil {
		return fmt.Errorf("drawing %s: %w", file, err)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		return fmt.Errorf("drawing %s: %w", file, err)
	}
	return record.WriteFile(file, b.Bytes())
}

// slug makes text a part of a file name.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 60 {
			break
		}
	}
	if out := strings.Trim(b.String(), "-"); out != "" {
		return out
	}
	return "device"
}

var precisionColors = []color.RGBA{{111, 66, 193, 255}, {9, 105, 200, 255}, {11, 143, 138, 255}, {185, 137, 0, 255}, {209, 87, 10, 255}, {204, 36, 96, 255}, {154, 63, 140, 255}, {28, 138, 71, 255}, {108, 140, 0, 255}, {138, 106, 58, 255}}

var grey = color.RGBA{101, 112, 124, 255}

func colorOf(d string) color.RGBA {
	for i, p := range record.Precisions {
		if string(p) == d {
			return precisionColors[i%len(precisionColors)]
		}
	}
	return grey
}

func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.Title.Padding = vg.Points(6)
	p.X.Padding, p.Y.Padding = 0, 0
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = color.Gray{228}, color.Gray{228}
	p.Add(g)
	return p
}

// logarithmic gives an axis the powers of a base that enclose the values.
func logarithmic(a *plot.Axis, values []float64, base float64, show func(float64) string) {
	low, high := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	if high == 0 {
		low, high = 1, base
	}
	from, to := math.Floor(math.Log(low)/math.Log(base)+1e-9), math.Ceil(math.Log(high)/math.Log(base)-1e-9)
	if to <= from {
		to = from + 1
	}
	a.Scale = plot.LogScale{}
	a.Min, a.Max = math.Pow(base, from), math.Pow(base, to)
	step := max(1, math.Ceil((to-from)/8))
	var ticks []plot.Tick
	for e := from; e <= to; e++ {
		label := ""
		if math.Mod(e-from, step) == 0 {
			label = show(math.Pow(base, e))
		}
		ticks = append(ticks, plot.Tick{Value: math.Pow(base, e), Label: label})
	}
	a.Tick.Marker = plot.ConstantTicks(ticks)
}

func sizeTick(v float64) string { return size(int64(v)) }

// mark is one point with its interval; an end of 0 is open.
type mark struct {
	x, y, low, high float64
	noisy           bool
}

// addMarks draws points, those of noisy results hollow, with their intervals inside the plot.
func addMarks(p *plot.Plot, marks []mark, c color.Color, name string, floor, roof float64) error {
	var solid, hollow plotter.XYs
	for _, m := range marks {
		xy := plotter.XY{X: m.x, Y: m.y}
		if m.noisy {
			hollow = append(hollow, xy)
		} else {
			solid = append(solid, xy)
		}
		open := m.high == 0
		if open {
			m.high = roof
		}
		line, err := plotter.NewLine(plotter.XYs{{X: m.x, Y: min(m.y, max(floor, m.low))}, {X: m.x, Y: max(m.y, min(roof, m.high))}})
		if err != nil {
			return err
		}
		line.Color, line.Width = c, vg.Points(.6)
		if open {
			line.Width, line.Dashes = vg.Points(.3), []vg.Length{vg.Points(1), vg.Points(3)}
		}
		p.Add(line)
	}
	for i, list := range []plotter.XYs{solid, hollow} {
		if len(list) == 0 {
			continue
		}
		s, err := plotter.NewScatter(list)
		if err != nil {
			return err
		}
		s.Color, s.Radius, s.Shape = c, vg.Points(2.6), draw.CircleGlyph{}
		if i == 1 {
			s.Shape = draw.RingGlyph{}
		}
		p.Add(s)
		if name != "" {
			p.Legend.Add(name, s)
			name = ""
		}
	}
	return nil
}

func addLine(p *plot.Plot, c color.Color, dashed bool, points ...plotter.XY) error {
	line, err := plotter.NewLine(plotter.XYs(points))
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(1.1)
	if dashed {
		line.Dashes, line.Width = []vg.Length{vg.Points(4), vg.Points(3)}, vg.Points(.7)
	}
	p.Add(line)
	return nil
}

func addText(p *plot.Plot, x, y float64, text string, right bool) error {
	l, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{text}})
	if err != nil {
		return err
	}
	l.TextStyle[0].Font.Size = vg.Points(8)
	l.Offset = vg.Point{X: vg.Points(3), Y: vg.Points(2)}
	if right {
		l.TextStyle[0].XAlign = draw.XRight
		l.Offset.X = -l.Offset.X
	}
	p.Add(onlyDrawn{l})
	return nil
}

// onlyDrawn draws labels without asking for room at the edges of the plot.
type onlyDrawn struct{ labels *plotter.Labels }

func (o onlyDrawn) Plot(c draw.Canvas, p *plot.Plot) { o.labels.Plot(c, p) }

func drawRoofline(d *record.Calibration, device string, _ []record.Fusion) (*plot.Plot, vg.Length, error) {
	r := roofOf(d, device)
	of := map[string][]mark{}
	var xs, ys []float64
	for i := range d.Results {
		x, y, ok := onRoofline(&d.Results[i])
		if res := &d.Results[i]; ok && res.Device == device {
			low, high := overTime(y, res.Time)
			of[clean(string(res.DType))] = append(of[clean(string(res.DType))], mark{x, y, low, high, res.Status != record.OK})
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	if len(xs) == 0 {
		return nil, 0, nil
	}
	top, fastest := 0.0, 0.0
	for _, l := range r.Compute {
		top, ys = max(top, l.Value), append(ys, 1.2*l.Value)
	}
	for _, l := range r.Memory {
		fastest = max(fastest, l.Value)
		if top > 0 {
			xs = append(xs, 2*top/l.Value)
		}
	}
	p := newPlot("Arithmetic intensity (FLOP/byte)", "Performance (GFLOPS; GOPS for integers)")
	logarithmic(&p.X, xs, 2, digits)
	logarithmic(&p.Y, ys, 10, digits)
	for i, l := range r.Memory {
		start, end := max(p.X.Min, p.Y.Min/l.Value), p.X.Max
		if top > 0 {
			end = min(end, top/l.Value)
		}
		if end <= start {
			continue
		}
		if err := addLine(p, grey, false, plotter.XY{X: start, Y: start * l.Value}, plotter.XY{X: end, Y: end * l.Value}); err != nil {
			return nil, 0, err
		}
		at := start * math.Pow(end/start, []float64{.8, .65, .5, .4}[i%4])
		if err := addText(p, at, at*l.Value, fmt.Sprintf("%s %s GB/s", l.Name, digits(l.Value)), true); err != nil {
			return nil, 0, err
		}
	}
	sorted := slices.Clone(r.Compute)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Value < sorted[j].Value })
	last, at := 0.0, p.X.Max
	for _, l := range sorted {
		start := p.X.Min
		if fastest > 0 {
			start = max(start, l.Value/fastest)
		}
		if err := addLine(p, colorOf(l.Name), false, plotter.XY{X: start, Y: l.Value}, plotter.XY{X: p.X.Max, Y: l.Value}); err != nil {
			return nil, 0, err
		}
		// Labels of ceilings that are close stand side by side.
		if last > 0 && math.Log(l.Value/last)/math.Log(p.Y.Max/p.Y.Min) < .035 {
			at /= math.Pow(p.X.Max/p.X.Min, .11)
		} else {
			at, last = p.X.Max, l.Value
		}
		if err := addText(p, at, l.Value, l.Name+" "+digits(l.Value), true); err != nil {
			return nil, 0, err
		}
	}
	err := addByName(p, of)
	return p, plotHeight, err
}

// addByName draws the marks of each precision in its colour, with a legend.
func addByName(p *plot.Plot, of map[string][]mark) error {
	var names []string
	for n := range of {
		names = append(names, n)
	}
	var order []string
	for _, d := range record.Precisions {
		order = append(order, string(d))
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := slices.Index(order, names[i]), slices.Index(order, names[j])
		return a < b || a == b && names[i] < names[j]
	})
	for _, n := range names {
		if err := addMarks(p, of[n], colorOf(n), n, p.Y.Min, p.Y.Max); err != nil {
			return err
		}
	}
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(6), vg.Points(6)
	return nil
}
