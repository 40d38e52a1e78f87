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
	"strconv"
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
	plotPoints = 7 * 72 // of its width that the axes leave, about
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

// logged marks an axis that is linear in the decimal logarithm of its values. The plot library's own logarithmic scale
// reserves room for the axis' name at a wrong place: a third of the picture stays empty.
type logged struct{ plot.LinearScale }

// onAxis is where a value stands on an axis, valueAt the value that stands there.
func onAxis(a *plot.Axis, v float64) float64 {
	if _, log := a.Scale.(logged); log {
		return math.Log10(v)
	}
	return v
}

func valueAt(a *plot.Axis, at float64) float64 {
	if _, log := a.Scale.(logged); log {
		return math.Pow(10, at)
	}
	return at
}

// point is a place in the plot of a pair of values.
func point(p *plot.Plot, x, y float64) plotter.XY {
	return plotter.XY{X: onAxis(&p.X, x), Y: onAxis(&p.Y, y)}
}

// logarithmic gives an axis the steps of a base that enclose the values: powers, of ten also their twofold and fivefold.
func logarithmic(a *plot.Axis, values []float64, base float64, show func(float64) string) {
	low, high := math.Inf(1), 0.0
	for _, v := range values {
		if v > smallest && v < largest {
			low, high = min(low, v), max(high, v)
		}
	}
	if high == 0 {
		low, high = 1, base
	}
	steps := []float64{1}
	if base == 10 {
		steps = []float64{1, 2, 5}
	}
	var all []float64
	for e := math.Floor(math.Log(low)/math.Log(base)) - 1; len(all) == 0 || all[len(all)-1] < high*(1-1e-9); e++ {
		for _, s := range steps {
			if v := s * math.Pow(base, e); len(all) == 0 || all[len(all)-1] < high*(1-1e-9) {
				if len(all) == 1 && v <= low*(1+1e-9) {
					all = all[:0] // the step before is not needed
				}
				all = append(all, v)
			}
		}
	}
	if len(all) == 1 {
		all = append(all, all[0]*base)
	}
	a.Scale = logged{}
	a.Min, a.Max = onAxis(a, all[0]), onAxis(a, all[len(all)-1])
	fewer := int(math.Ceil(float64(len(all)) / 10))
	var ticks []plot.Tick
	for i, v := range all {
		label := ""
		if base == 10 && len(all) > 10 && math.Abs(math.Log10(v)-math.Round(math.Log10(v))) < 1e-9 || (base != 10 || len(all) <= 10) && i%fewer == 0 {
			label = show(v)
		}
		ticks = append(ticks, plot.Tick{Value: onAxis(a, v), Label: label})
	}
	a.Tick.Marker = plot.ConstantTicks(ticks)
}

// tick is a number on an axis: 0.125, 20, 1000.
func tick(v float64) string {
	if v == math.Trunc(v) && v < 1e7 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// sizeTick is a size on an axis: 8 KiB.
func sizeTick(v float64) string {
	number, unit, _ := strings.Cut(size(int64(v)), " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + unit
}

// mark is one point with its interval; an end of 0 is open.
type mark struct {
	x, y, low, high float64
	noisy           bool
}

// addMarks draws points, those of noisy results hollow, with their intervals inside the plot.
func addMarks(p *plot.Plot, marks []mark, c color.Color, name string, floor, roof float64) error {
	var solid, hollow plotter.XYs
	for _, m := range marks {
		xy := point(p, m.x, m.y)
		if within := func(a *plot.Axis, v float64) bool { return v > a.Min-1e-6 && v < a.Max+1e-6 }; !within(&p.X, xy.X) || !within(&p.Y, xy.Y) {
			continue // beyond what an axis shows
		}
		if m.noisy {
			hollow = append(hollow, xy)
		} else {
			solid = append(solid, xy)
		}
		open := m.high == 0 || m.low == 0
		if open && m.high == m.low {
			continue // no interval
		}
		if m.high == 0 {
			m.high = roof
		}
		line, err := plotter.NewLine(plotter.XYs{point(p, m.x, min(m.y, max(floor, m.low))), point(p, m.x, max(m.y, min(roof, m.high)))})
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
			thumb := *s
			thumb.Shape = draw.CircleGlyph{} // the colour is what it tells
			p.Legend.Add(name, &thumb)
			name = ""
		}
	}
	return nil
}

// addLine draws a line through pairs of values.
func addLine(p *plot.Plot, c color.Color, dashed bool, points ...plotter.XY) error {
	var at plotter.XYs
	for _, v := range points {
		at = append(at, point(p, v.X, v.Y))
	}
	line, err := plotter.NewLine(at)
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
	l, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{point(p, x, y)}, Labels: []string{text}})
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

// alongLine is text just above the middle of a line, in its direction.
type alongLine struct {
	from, to plotter.XY
	at       float64 // 0 the line's start, 1 its end
	text     string
}

func (t alongLine) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	a, b := point(p, t.from.X, t.from.Y), point(p, t.to.X, t.to.Y)
	from, to := vg.Point{X: x(a.X), Y: y(a.Y)}, vg.Point{X: x(b.X), Y: y(b.Y)}
	angle := math.Atan2(float64(to.Y-from.Y), float64(to.X-from.X))
	style := p.X.Tick.Label
	style.Font.Size, style.Rotation, style.XAlign, style.YAlign = vg.Points(8), angle, draw.XCenter, draw.YBottom
	middle := vg.Point{X: from.X + vg.Length(t.at)*(to.X-from.X), Y: from.Y + vg.Length(t.at)*(to.Y-from.Y)}
	off := float64(vg.Points(1.5))
	c.FillText(style, middle.Add(vg.Point{X: vg.Length(-off * math.Sin(angle)), Y: vg.Length(off * math.Cos(angle))}), t.text)
}

// slopeLabels are the labels of lines of memory, which are parallel.
type slopeLabels struct {
	across, up float64 // points of a step of the natural logarithm, about: names and numbers of the axes take the rest of the picture
	taken      []labelBox
}

// labelBox is where a label stands in points: along the lines, beside them, and half its length.
type labelBox struct{ along, beside, half float64 }

// place gives the first place along a line where its label covers none before it: lines may be closer than a label is high.
func (s *slopeLabels) place(from, to plotter.XY, text string) float64 {
	angle, places := math.Atan2(s.up, s.across), []float64{.7, .5, .25, .3, .85, .1}
	box := func(n int) (float64, labelBox) {
		at := places[(len(s.taken)+n)%len(places)]
		x, y := s.across*(math.Log(from.X)+at*math.Log(to.X/from.X)), s.up*(math.Log(from.Y)+at*math.Log(to.Y/from.Y))
		return at, labelBox{x*math.Cos(angle) + y*math.Sin(angle), y*math.Cos(angle) - x*math.Sin(angle), labelPoints(text) / 2}
	}
	at, mine := box(0)
	for n := 1; n < len(places) && slices.ContainsFunc(s.taken, func(o labelBox) bool {
		return math.Abs(mine.along-o.along) < mine.half+o.half && math.Abs(mine.beside-o.beside) < 11
	}); n++ {
		at, mine = box(n)
	}
	s.taken = append(s.taken, mine)
	return at
}

// labelPoints is about how wide a label is, with room around it.
func labelPoints(text string) float64 { return 4.4*float64(len(text)) + 6 }

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
	logarithmic(&p.X, xs, 2, tick)
	logarithmic(&p.Y, ys, 10, tick)
	left, right, floor, ceiling := valueAt(&p.X, p.X.Min), valueAt(&p.X, p.X.Max), valueAt(&p.Y, p.Y.Min), valueAt(&p.Y, p.Y.Max)
	labels := slopeLabels{across: plotPoints / math.Log(right/left), up: 4.2 * 72 / math.Log(ceiling/floor)}
	for _, l := range r.Memory {
		start, end := max(left, floor/l.Value), right
		if top > 0 {
			end = min(end, top/l.Value)
		}
		if end <= start {
			continue
		}
		from, to := plotter.XY{X: start, Y: start * l.Value}, plotter.XY{X: end, Y: end * l.Value}
		if err := addLine(p, grey, false, from, to); err != nil {
			return nil, 0, err
		}
		text := fmt.Sprintf("%s %s GB/s", l.Name, digits(l.Value))
		p.Add(alongLine{from, to, labels.place(from, to, text), text})
	}
	last, at, before := 0.0, right, ""
	for _, l := range sameHeight(r.Compute) {
		start := left
		if fastest > 0 {
			start = max(start, l.Value/fastest)
		}
		if err := addLine(p, colorOf(l.color), false, plotter.XY{X: start, Y: l.Value}, plotter.XY{X: right, Y: l.Value}); err != nil {
			return nil, 0, err
		}
		// Labels of ceilings that are close stand side by side.
		if last > 0 && math.Log(l.Value/last)/math.Log(ceiling/floor) < .035 {
			at /= math.Pow(right/left, labelPoints(before)/plotPoints)
		} else {
			at, last = right, l.Value
		}
		before = l.text
		if err := addText(p, at, l.Value, l.text, true); err != nil {
			return nil, 0, err
		}
	}
	err := addByName(p, of)
	return p, plotHeight, err
}

// ceilingLine is a compute ceiling of one precision or of several that have the same.
type ceilingLine struct {
	Value       float64
	text, color string
}

// sameHeight joins ceilings of the same value, lowest first.
func sameHeight(list []limit) []ceilingLine {
	sorted := slices.Clone(list)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Value < sorted[j].Value })
	var out []ceilingLine
	for i, l := range sorted {
		if n := len(out); n > 0 && l.Value == sorted[i-1].Value {
			out[n-1].text = strings.TrimSuffix(out[n-1].text, " "+digits(l.Value)) + ", " + l.Name + " " + digits(l.Value)
			continue
		}
		out = append(out, ceilingLine{l.Value, l.Name + " " + digits(l.Value), l.Name})
	}
	return out
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
		if err := addMarks(p, of[n], colorOf(n), n, valueAt(&p.Y, p.Y.Min), valueAt(&p.Y, p.Y.Max)); err != nil {
			return err
		}
	}
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(6), vg.Points(6)
	return nil
}
