package report

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/jedib0t/go-pretty/v6/text"

	"ridge/goharness/record"
)

// Live writes a line for each result as soon as it is there. It may be used by several
// goroutines.
type Live struct {
	w  io.Writer
	o  Options
	p  *Progress
	mu sync.Mutex
	// Devices begins each line with the result's device.
	Devices bool
}

// NewLive writes to w. p, which may be nil, is the progress display of the same terminal:
// it is cleared before a line and drawn again after it.
func NewLive(w io.Writer, o Options, p *Progress) *Live { return &Live{w: w, o: o, p: p} }

// Result writes the line of one result, and underneath why it is not plain ok.
func (l *Live) Result(r record.Result) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := liveLine(&r, l.o, l.Devices)
	if below := remarks(&r); below != "" {
		for _, line := range wrap(below, l.o.Width-4) {
			out += "    " + line + "\n"
		}
	}
	var err error
	l.p.around(func() { _, err = io.WriteString(l.w, out) })
	if err != nil {
		return fmt.Errorf("writing the line of %s: %w", r.ID, err)
	}
	return nil
}

// liveLine shows a result's fields, the most important first; those that do not fit the
// terminal are left out.
func liveLine(r *record.Result, o Options, device bool) string {
	status := fmt.Sprintf("%-11s", clean(string(r.Status)))
	parts := []string{
		pad(clean(r.Op), 16), pad(clean(string(r.DType)), 8), pad(params(r.ID), 30), left(performance(r), 14), left(latency(r), 10),
	}
	if device {
		parts = append([]string{pad(clean(r.Device), 7)}, parts...)
	}
	if f := ofRoof(r); f != none {
		parts = append(parts, left(f, 7)+" of "+bound(r))
	}
	if h := half(r); h != none {
		parts = append(parts, "±"+h)
	}
	if k := kernel(r); k != "" {
		parts = append(parts, clean(k))
	}
	room := o.Width - text.StringWidth(status) - 1
	line := ""
	for _, p := range parts {
		next := line + " " + p
		if o.Width > 0 && text.StringWidth(next) > room {
			break
		}
		line = next
	}
	if o.Color {
		status = statusColor(r.Status) + status + "\x1b[0m"
	}
	return strings.TrimRight(status+line, " ") + "\n"
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-text.StringWidth(s)))
}

func left(s string, n int) string {
	return strings.Repeat(" ", max(0, n-text.StringWidth(s))) + s
}
