// Package toyview is the worked example of a view in docs/extending.md.
package toyview

import (
	"fmt"
	"io"

	"ridge/goharness/record"
	"ridge/goharness/report"
)

// View lists the cases of each document with their statuses.
func View() report.View {
	return report.View{Name: "statuses", Doc: "one line per case with its status", Write: writeStatuses}
}

func writeStatuses(w io.Writer, docs []record.Calibration) error {
	for _, d := range docs {
		for _, r := range d.Results {
			if _, err := fmt.Fprintf(w, "%s\t%s\n", r.ID, r.Status); err != nil {
				return fmt.Errorf("writing the statuses: %w", err)
			}
		}
	}
	return nil
}
