package report

import (
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ridge/goharness/record"
)

func TestPlotsAreWrittenAsSVGAndPNG(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	doc := sample(t)
	doc.Results[0].Metrics.Power = &record.PowerMetrics{GFLOPSPerWatt: 7}
	files, err := WritePlots(dir, []record.Calibration{doc, hostile(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"roofline", "bandwidth", "bandwidth-utilisation", "latency", "fusion", "power-efficiency"} {
		for _, ext := range []string{".svg", ".png"} {
			name := filepath.Join(dir, "example-cpu-zen-3-cpu-"+want+ext)
			found := false
			for _, f := range files {
				found = found || f == name
			}
			if !found {
				t.Errorf("no %s in %q", name, files)
			}
		}
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if filepath.Dir(name) != dir {
			t.Errorf("%s is outside of %s", name, dir)
		}
		if strings.HasSuffix(name, ".png") {
			if _, err := png.DecodeConfig(f); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for d := xml.NewDecoder(f); ; {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			if e, ok := tok.(xml.StartElement); ok && (e.Name.Local == "script" || e.Name.Local == "img") {
				t.Errorf("%s: text of the document became the element %s", name, e.Name.Local)
			}
		}
	}
}
