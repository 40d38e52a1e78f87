package report

import (
	"bytes"
	"fmt"
	"io"

	"ridge/goharness/record"
)

func writeJSON(w io.Writer, docs []record.Calibration) error {
	if len(docs) == 1 {
		return record.WriteCalibration(w, docs[0])
	}
	var b bytes.Buffer
	b.WriteString("[")
	for i, d := range docs {
		data, err := record.EncodeCalibration(d)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n")
		b.Write(bytes.TrimSpace(data))
	}
	b.WriteString("\n]\n")
	_, err := w.Write(b.Bytes())
	return err
}

func writeGraphs(w io.Writer, docs []record.Calibration) error {
	if len(docs) != 1 {
		return fmt.Errorf("graphs export: the format holds one document, %d were given (a fusion profile joins the one calibration of its host, name and device)", len(docs))
	}
	data, err := record.ExportGraphs(docs[0])
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
