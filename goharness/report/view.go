// Package report shows documents: as a table on a terminal, as an HTML page, plots, Markdown, CSV, Go
// benchmark text, and as short plain-text insights. It computes nothing that is not in
// the document.
package report

import (
	"io"

	"ridge/goharness/record"
)

// View is one way to show documents.
type View struct {
	Name string // the name given to --format
	Doc  string // one line
	// Write shows the documents on w.
	Write func(w io.Writer, docs []record.Calibration) error
	// Files, of a view that is several files, writes them into a folder in place of Write and names them.
	Files func(dir string, docs []record.Calibration) ([]string, error)
}

// Views lists the views in display order. A new view is one file and one line here.
func Views() []View {
	return []View{
		{Name: "table", Doc: "results, fusion patterns, ceilings and summary as terminal tables", Write: writeTables},
		{Name: "json", Doc: "the calibration itself, with the fusion profiles that joined it (a list when there are several)", Write: writeJSON},
		{Name: "md", Doc: "Markdown tables", Write: writeMarkdown},
		{Name: "csv", Doc: "one row per result and fusion shape with fixed columns", Write: writeCSV},
		{Name: "benchfmt", Doc: "Go benchmark text, one line per sample, for benchstat", Write: writeBenchfmt},
		{Name: "html", Doc: "one HTML page with charts and a table that needs no network; several documents stand side by side", Write: WritePage},
		{Name: "plots", Doc: "SVG and PNG files in the folder --output: roofline, bandwidth, latency, fusion, power efficiency", Files: WritePlots},
		{Name: "graphs", Doc: "calibration file of branes-ai/graphs, one document with one device", Write: writeGraphs},
		{Name: "insights", Doc: "peaks, ridge points and the results farthest from their limits in plain words", Write: writeInsights},
	}
}

// Find returns the view of a name; "markdown" stands for md.
func Find(name string) (View, bool) {
	if name == "markdown" {
		name = "md"
	}
	for _, v := range Views() {
		if v.Name == name {
			return v, true
		}
	}
	return View{}, false
}
