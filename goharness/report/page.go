package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"ridge/goharness/record"
)

// page holds the parts of the HTML page. echarts/ is the chart library as its makers publish it (scripts/echarts renews it).
//
//go:embed page/page.html page/page.css page/*.js page/echarts/echarts.common.min.js
var page embed.FS

// pageScripts in the order in which they run.
var pageScripts = []string{"page/echarts/echarts.common.min.js", "page/base.js", "page/roofline.js", "page/charts.js", "page/fusion.js", "page/table.js", "page/start.js"}

var pageTemplate = template.Must(template.ParseFS(page, "page/page.html"))

// pageView is what the template shows. Text of documents is plain string everywhere, so that html/template escapes it.
type pageView struct {
	Title    string
	Policy   string
	Style    template.CSS
	Scripts  []template.JS
	Data     template.JS
	Machines []machineView
	Compare  *comparison
	Sections sections
}

// sections say which parts have anything to show.
type sections struct{ Roofline, Sweep, GEMM, Fusion, Energy bool }

// WritePage writes the documents as one HTML page that needs nothing else: style, scripts and data are inside, and its
// content security policy lets the browser load nothing and run no other script.
func WritePage(w io.Writer, docs []record.Calibration) error {
	data, err := dataOf(docs)
	if err != nil {
		return err
	}
	style, err := page.ReadFile("page/page.css")
	if err != nil {
		return fmt.Errorf("the page's style: %w", err)
	}
	v := pageView{Title: pageTitle(docs), Style: template.CSS(style), Data: template.JS(data), Compare: comparisonOf(docs), Sections: sectionsOf(docs)}
	var hashes []string
	for _, name := range pageScripts {
		text, err := page.ReadFile(name)
		if err != nil {
			return fmt.Errorf("the page's script: %w", err)
		}
		sum := sha256.Sum256(text)
		hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
		v.Scripts = append(v.Scripts, template.JS(text))
	}
	v.Policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; script-src " + strings.Join(hashes, " ")
	names := labels(docs)
	for i := range docs {
		v.Machines = append(v.Machines, machineOf(&docs[i], names[i]))
	}
	if err := pageTemplate.Execute(w, v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func pageTitle(docs []record.Calibration) string {
	names := labels(docs)
	if len(names) > 3 {
		return fmt.Sprintf("ridge: %d machines", len(names))
	}
	return "ridge: " + strings.Join(names, ", ")
}

func sectionsOf(docs []record.Calibration) sections {
	var s sections
	for i := range docs {
		s.Fusion = s.Fusion || len(docs[i].FusionProfiles) > 0
		s.Energy = s.Energy || fusionEnergy(&docs[i])
		for n := range docs[i].Results {
			r := &docs[i].Results[n]
			_, _, on := onRoofline(r)
			s.Roofline = s.Roofline || on
			s.GEMM = s.GEMM || on && r.Op == "gemm" && r.Ceiling != nil && r.Ceiling.ComputeGFLOPS > 0
			s.Sweep = s.Sweep || r.Probe() && r.Status.Counts() && (r.Op == "chase" || r.Op == "bandwidth")
			s.Energy = s.Energy || energyShown(r).watts > 0
		}
	}
	return s
}
