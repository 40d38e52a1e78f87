package report

import (
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// Options say what the output is.
type Options struct {
	Terminal bool // somebody watches: a display may redraw itself
	Width    int  // columns of the terminal; 0 means any width
	Color    bool // escape sequences for colour
}

// Detect gives the options for w: width and colour of a terminal, neither for anything
// else. NO_COLOR in the environment turns colour off (no-color.org).
func Detect(w io.Writer) Options {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Options{}
	}
	o := Options{Terminal: true, Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		o.Width = width
	}
	return o
}

// column of a grid. When the terminal is too narrow, columns with a higher drop leave first
// and those with 0 stay; a column with a least width is shortened to it before others leave.
type column struct {
	name  string
	right bool
	drop  int
	least int
}

// gridRow is one line of a grid with what stands underneath it.
type gridRow struct {
	cells []string
	below string
	color string // escape sequence of the row's last cell, "" for none
}

const gap2 = "  "

// grid renders rows under columns, at most o.Width wide. No cell wraps.
func grid(cols []column, rows []gridRow, o Options) string {
	keep := fit(cols, rows, o.Width)
	widths := widthsOf(cols, rows)
	limit := shorten(cols, keep, widths, o.Width)

	t := table.NewWriter()
	style := table.StyleDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", gap2
	style.Box.MiddleHorizontal = "─"
	style.Options = table.Options{SeparateHeader: true}
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	var head table.Row
	var cfg []table.ColumnConfig
	for n, c := range keep {
		head = append(head, clip(cols[c].name, limit[n]))
		align := text.AlignLeft
		if cols[c].right {
			align = text.AlignRight
		}
		cfg = append(cfg, table.ColumnConfig{Number: n + 1, Align: align, AlignHeader: align})
	}
	t.SetColumnConfigs(cfg)
	t.AppendHeader(head)
	for _, r := range rows {
		var line table.Row
		for n, c := range keep {
			cell := clip(r.cells[c], limit[n])
			if o.Color && r.color != "" && c == len(cols)-1 {
				cell = r.color + cell + "\x1b[0m"
			}
			line = append(line, cell)
		}
		t.AppendRow(line)
	}
	lines := strings.Split(t.Render(), "\n")
	var b strings.Builder
	for i, l := range lines {
		if i == 1 { // the rule under the header ends with the last column
			l = strings.TrimSuffix(l, "──")
		}
		b.WriteString(strings.TrimRight(l, " ") + "\n")
		if i >= 2 && i-2 < len(rows) && rows[i-2].below != "" {
			for _, w := range wrap(rows[i-2].below, o.Width-4) {
				b.WriteString("    " + w + "\n")
			}
		}
	}
	return b.String()
}

// fit lists the columns that stay.
func fit(cols []column, rows []gridRow, width int) []int {
	var keep []int
	for c := range cols {
		if c == 0 || !emptyColumn(c, rows) || cols[c].drop == 0 {
			keep = append(keep, c)
		}
	}
	if width <= 0 {
		return keep
	}
	widths := widthsOf(cols, rows)
	for c := range cols {
		if cols[c].least > 0 {
			widths[c] = min(widths[c], cols[c].least)
		}
	}
	for total(keep, widths) > width {
		worst := -1
		for n, c := range keep {
			if cols[c].drop > 0 && (worst < 0 || cols[c].drop > cols[keep[worst]].drop) {
				worst = n
			}
		}
		if worst < 0 {
			break
		}
		keep = append(keep[:worst], keep[worst+1:]...)
	}
	return keep
}

// shorten gives each kept column's width limit: it takes from the widest column that may be
// shortened, and when those are at their least from the widest of all.
func shorten(cols []column, keep, widths []int, width int) []int {
	limit := make([]int, len(keep))
	for n, c := range keep {
		limit[n] = widths[c]
	}
	over := total(keep, widths) - width
	if width <= 0 {
		over = 0
	}
	for ; over > 0; over-- {
		widest, any := -1, 0
		for n, c := range keep {
			if least := cols[c].least; least > 0 && limit[n] > least && (widest < 0 || limit[n] > limit[widest]) {
				widest = n
			}
			if limit[n] > limit[any] {
				any = n
			}
		}
		if widest < 0 {
			widest = any
		}
		if limit[widest] <= 3 {
			break
		}
		limit[widest]--
	}
	return limit
}

func widthsOf(cols []column, rows []gridRow) []int {
	w := make([]int, len(cols))
	for c := range cols {
		w[c] = text.StringWidth(cols[c].name)
		for _, r := range rows {
			w[c] = max(w[c], text.StringWidth(r.cells[c]))
		}
	}
	return w
}

func total(keep, widths []int) int {
	sum := -len(gap2)
	for _, c := range keep {
		sum += widths[c] + len(gap2)
	}
	return sum
}

func emptyColumn(c int, rows []gridRow) bool {
	for _, r := range rows {
		if r.cells[c] != none && r.cells[c] != "" {
			return false
		}
	}
	return true
}

// clip shortens text to a width in terminal columns.
func clip(s string, width int) string {
	if text.StringWidth(s) <= width {
		return s
	}
	return text.Trim(s, max(0, width-1)) + "…"
}

// wrap breaks text at spaces into lines of at most width columns (0 or less: one line).
func wrap(s string, width int) []string {
	if width <= 0 || text.StringWidth(s) <= width {
		return []string{s}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		for text.StringWidth(word) > width {
			if line != "" {
				lines = append(lines, line)
				line = ""
			}
			head := text.Trim(word, width)
			lines = append(lines, head)
			word = strings.TrimPrefix(word, head)
		}
		switch {
		case line == "":
			line = word
		case text.StringWidth(line)+1+text.StringWidth(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
