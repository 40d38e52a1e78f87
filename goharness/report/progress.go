package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// ProgressOptions configure a progress display.
type ProgressOptions struct {
	Terminal bool // a bar that redraws itself; otherwise plain lines
	Width    int  // columns of the terminal; 0 means 80
	Quiet    bool // nothing at all
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Progress shows how far a run is and when it should end. It may be used by several
// goroutines, and a nil one shows nothing.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	o     ProgressOptions
	total float64 // work in all, in the unit of Done
	done  float64
	n     int // cases begun
	cases int
	label string
	start time.Time
	drawn bool
}

// NewProgress shows cases cases of total work on w, usually stderr. The unit of work is the
// caller's: expected seconds, or 1 a case.
func NewProgress(w io.Writer, cases int, total float64, o ProgressOptions) *Progress {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Width <= 0 {
		o.Width = 80
	}
	return &Progress{w: w, o: o, total: total, cases: cases, start: o.Now()}
}

// Begin says that a case starts.
func (p *Progress) Begin(label string) {
	if p == nil || p.o.Quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	p.label = clean(label)
	if p.o.Terminal {
		p.draw()
		return
	}
	fmt.Fprintf(p.w, "[%d/%d] %s%s\n", p.n, p.cases, p.label, p.eta(", about %s left"))
}

// Done says that so much work is finished.
func (p *Progress) Done(work float64) {
	if p == nil || p.o.Quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += work
	if p.o.Terminal {
		p.draw()
	}
}

// Finish removes the bar.
func (p *Progress) Finish() {
	if p == nil || p.o.Quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// around runs f, which writes to the same terminal, with the bar out of the way.
func (p *Progress) around(f func()) {
	if p == nil || p.o.Quiet || !p.o.Terminal {
		f()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	had := p.drawn
	p.clear()
	f()
	if had {
		p.draw()
	}
}

func (p *Progress) clear() {
	if p.drawn {
		io.WriteString(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// draw redraws the bar in one line that never reaches the last column.
func (p *Progress) draw() {
	p.clear()
	const cells = 20
	full := int(p.fraction() * cells)
	bar := strings.Repeat("█", full) + strings.Repeat("░", cells-full)
	line := fmt.Sprintf("%s %d/%d%s  %s", bar, p.n, p.cases, p.eta("  %s left"), p.label)
	io.WriteString(p.w, clip(line, p.o.Width-1))
	p.drawn = true
}

func (p *Progress) fraction() float64 {
	if p.total <= 0 {
		return 0
	}
	return min(1, p.done/p.total)
}

// eta estimates the time left from the pace so far, "" before anything is done.
func (p *Progress) eta(format string) string {
	f := p.fraction()
	if f <= 0 {
		return ""
	}
	left := time.Duration(float64(p.o.Now().Sub(p.start)) * (1 - f) / f)
	return fmt.Sprintf(format, left.Round(time.Second))
}
