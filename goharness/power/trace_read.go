package power

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// TraceRow is a row of a trace; 0 where the cell is empty.
type TraceRow struct {
	At                             time.Duration // since the trace began
	Watts, ClockMHz, TemperatureC  float64
	HasWatts                       bool
	Throttled, Phase, Case, Kernel string
}

// Limits of a trace that is read: a day of readings every 100 ms.
const (
	maxTraceBytes = 128 << 20
	maxTraceRows  = 1_000_000
)

// IsTrace reports whether a file with this beginning is a trace.
func IsTrace(start []byte) bool {
	head := strings.Join(traceColumns, ",")
	return len(start) >= len(head) && string(start[:len(head)]) == head
}

// ReadTrace reads what a Trace wrote. The error is one line that names the line and the column; the caller adds the file's name.
func ReadTrace(r io.Reader) ([]TraceRow, error) {
	bounded := &io.LimitedReader{R: r, N: maxTraceBytes + 1}
	c := csv.NewReader(bounded)
	c.ReuseRecord, c.FieldsPerRecord = true, len(traceColumns)
	head, err := c.Read()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, csv.ErrFieldCount) {
		return nil, fmt.Errorf("power trace: %w", err)
	}
	if !slices.Equal(head, traceColumns) {
		return nil, fmt.Errorf("power trace: line 1: expected the columns %s", strings.Join(traceColumns, ","))
	}
	var rows []TraceRow
	known := map[string]string{} // one copy of each name
	name := func(s string) string {
		if have, ok := known[s]; ok {
			return have
		}
		s = strings.Clone(s)
		known[s] = s
		return s
	}
	for {
		cells, err := c.Read()
		if bounded.N <= 0 {
			return nil, fmt.Errorf("power trace: larger than %d bytes", maxTraceBytes)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("power trace: %w", err)
		}
		if len(rows) == maxTraceRows {
			return nil, fmt.Errorf("power trace: more than %d rows", maxTraceRows)
		}
		var v [4]float64
		for i, cell := range cells[:len(v)] {
			if cell == "" && i > 0 {
				continue
			}
			v[i], err = strconv.ParseFloat(cell, 64)
			if err != nil || !(v[i] >= -1e3 && v[i] <= 1e9) { // refuses NaN and infinities
				line, _ := c.FieldPos(i)
				return nil, fmt.Errorf("power trace: line %d: %s: got %q, expected a number", line, traceColumns[i], clip(cell))
			}
		}
		row := TraceRow{At: time.Duration(v[0] * 1e9), Watts: v[1], HasWatts: cells[1] != "", ClockMHz: v[2], TemperatureC: v[3],
			Throttled: name(cells[4]), Phase: name(cells[5]), Case: name(cells[6]), Kernel: name(cells[7])}
		if len(rows) > 0 && row.At < rows[len(rows)-1].At {
			line, _ := c.FieldPos(0)
			return nil, fmt.Errorf("power trace: line %d: time_s: %s is before the line above", line, clip(cells[0]))
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, errors.New("power trace: it has no readings")
	}
	return rows, nil
}
