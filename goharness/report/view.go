// Package report shows documents: as a table on a terminal, as Markdown, CSV, Go
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
}

// Views lists the views in display order. A new view is one file and one line here.
func Views() []View {
	return []View{
		{"table", "results, fusion patterns, ceilings and summary as terminal tables", writeTables},
		{"json", "the calibration itself, with the fusion profiles that joined it (a list when there are several)", writeJSON},
		{"md", "Markdown tables", writeMarkdown},
		{"csv", "one row per result and fusion shape with fixed columns", writeCSV},
		{"benchfmt", "Go benchmark text, one line per sample, for benchstat", writeBenchfmt},
		{"html", "one HTML page with charts and a table that needs no network; several documents stand side by side", WritePage},
		{"graphs", "calibration file of branes-ai/graphs, one document with one device", writeGraphs},
		{"insights", "peaks, ridge points and the results farthest from their limits in plain words", writeInsights},
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
