package report

import (
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
)

const traceHead = "time_s,power_watts,clock_mhz,temperature_c,throttled,phase,case,kernel\n"

// traceText has an idle baseline, and so many kernels of which each runs for a second.
func traceText(kernels int) string {
	var b strings.Builder
	b.WriteString(traceHead)
	at := 0.0
	for range 20 {
		at += .1
		fmt.Fprintf(&b, "%.4f,70,1200,40,,idle,,\n", at)
	}
	for k := range kernels {
		for i := range 10 {
			at += .1
			fmt.Fprintf(&b, "%.4f,%d,3400,%d,,sustain,\"cpu/gemm/fp32/m=%d,n=1,k=1/threads=1/hot\",gemm_fp32_%d\n", at, 300+10*k+i, 50+k, k, k)
		}
	}
	return b.String()
}

func TestATraceIsDrawnUnderTheTimelineOfTheKernels(t *testing.T) {
	dir := t.TempDir()
	files, err := WriteTracePlots(dir, "/somewhere/My Power.csv", strings.NewReader(traceText(3)))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || filepath.Base(files[0]) != "my-power-power-trace.svg" || filepath.Base(files[1]) != "my-power-power-trace.png" {
		t.Fatalf("files %q", files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Power trace · My Power", "idle", "gemm_fp32_0", "gemm_fp32_2", "Power (W)", "Clock (MHz)", "Temperature (°C)", "Time (s)"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the SVG lacks %q", want)
		}
	}
	// The timeline stands above the power, the power above the time.
	if a, b, c := strings.Index(string(text), "gemm_fp32_0"), strings.Index(string(text), "Power (W)"), strings.Index(string(text), "Time (s)"); a > b || b > c {
		t.Errorf("lanes at %d, power at %d, time at %d", a, b, c)
	}
	f, err := os.Open(files[1])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if img, err := png.Decode(f); err != nil || img.Bounds().Dx() < 400 || img.Bounds().Dy() < 400 {
		t.Errorf("PNG: %v", err)
	}
}

// Many kernels share a lane, a long trace keeps its peaks, and names cannot break the picture.
func TestALongTraceStaysASmallPictureWithItsPeaks(t *testing.T) {
	text := traceText(40) + "70.0000,9,,,,sustain,x,\"<script>alert(1)</script>\"\n"
	dir := t.TempDir()
	files, err := WriteTracePlots(dir, "t.csv", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(svg), "other kernels") || strings.Contains(string(svg), "<script>") || strings.Contains(string(svg), "gemm_fp32_39") {
		t.Error("lanes or their names are wrong")
	}
	var points plotter.XYs
	for i := range 100_000 {
		y := 1.0
		if i == 77_777 {
			y = 99
		}
		points = append(points, plotter.XY{X: float64(i), Y: y})
	}
	got, peak := thin(points), 0.0
	for i, p := range got {
		peak = max(peak, p.Y)
		if i > 0 && p.X < got[i-1].X {
			t.Fatalf("point %d goes back", i)
		}
	}
	if len(got) > 2*columns || peak != 99 {
		t.Errorf("%d points, peak %v", len(got), peak)
	}
}

func TestATraceWithoutSensorsOrLengthIsDrawn(t *testing.T) {
	for name, rows := range map[string]string{"one row": "0.1,5,,,,idle,,\n", "no power": "0.1,,,,,timing,x,\n0.2,,,,,timing,x,\n", "gaps": "0.1,5,,,,,,\n0.2,,,,,,,\n0.3,7,,,,,,\n"} {
		if files, err := WriteTracePlots(t.TempDir(), "t.csv", strings.NewReader(traceHead+rows)); err != nil || len(files) != 2 {
			t.Errorf("%s: %q, %v", name, files, err)
		}
	}
}
