package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"ridge/goharness/report"
)

// Formats of Write.
var Formats = []string{"table", "md", "json"}

// mostRows of an outcome are shown, unless all are asked for.
const mostRows = 40

// Write shows a comparison. Cases that are the same or ambiguous are counted, and listed with all.
func Write(w io.Writer, c Comparison, format string, all bool) error {
	switch format {
	case "json":
		data, err := json.MarshalIndent(c, "", "  ")
		if err != nil {
			return fmt.Errorf("writing the comparison: %w", err)
		}
		_, err = w.Write(append(data, '\n'))
		return err
	case "table", "md":
		_, err := io.WriteString(w, words(c, format == "md", all))
		return err
	}
	return fmt.Errorf("format %q: expected one of %s", format, strings.Join(Formats, ", "))
}

func words(c Comparison, md, all bool) string {
	var b strings.Builder
	head := "compare"
	if md {
		head = "### ridge compare"
	}
	fmt.Fprintf(&b, "%s: %s → %s\n", head, c.Old.text(md), c.New.text(md))
	if md {
		b.WriteString("\n")
	}
	fmt.Fprintln(&b, c.verdict())
	fmt.Fprintf(&b, "metric %s; called beyond ±%.3g %% with %.0f %% confidence for all cases together", c.Metric, 100*c.Threshold, 100*c.Confidence)
	if d := c.Drift; d != nil {
		fmt.Fprintf(&b, "; drift between runs %.2g %% (%s)", 100*d.PerRun, d.Source)
	}
	b.WriteString("\n")
	for _, a := range c.Attributed {
		fmt.Fprintf(&b, "%schanged: %s\n", bullet(md), clean(a, md))
	}
	for _, x := range c.Warnings {
		fmt.Fprintf(&b, "%swarning: %s\n", bullet(md), clean(x, md))
	}
	b.WriteString(rows(c, md, all))
	return b.String()
}

func bullet(md bool) string {
	if md {
		return "\n- "
	}
	return ""
}

func (s Side) text(md bool) string {
	out := s.Name
	if s.RunID != "" {
		out = strings.TrimSpace(out + " (run " + s.RunID + ")")
	}
	return clean(out, md)
}

// verdict is one line of counts.
func (c *Comparison) verdict() string {
	var parts []string
	for _, o := range Outcomes {
		if n := c.Counts[o]; n > 0 || o == Slower || o == Faster {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	return strings.Join(parts, " · ")
}

func rows(c Comparison, md, all bool) string {
	head := []string{"case", "outcome", "old " + c.Unit, "new " + c.Unit, "change", "interval", "why"}
	var body [][]string
	left := map[Outcome]int{}
	shown := map[Outcome]int{}
	for _, k := range c.Cases {
		if !all && (k.Outcome == Same || k.Outcome == Ambiguous || shown[k.Outcome] >= mostRows) {
			left[k.Outcome]++
			continue
		}
		shown[k.Outcome]++
		why := append([]string{}, k.Attributed...)
		if k.Reason != "" {
			why = append([]string{k.Reason}, why...)
		}
		change, interval := "–", "–"
		if k.CI != nil {
			r, lo, hi := k.Ratio, k.CI[0], k.CI[1]
			if c.Metric.rate() { // shown as the change of the rate
				r, lo, hi = 1/r, 1/hi, 1/lo
			}
			change, interval = Percent(r), fmt.Sprintf("%s … %s", Percent(lo), Percent(hi))
		}
		body = append(body, []string{k.ID, string(k.Outcome), number(k.Old), number(k.New), change, interval, strings.Join(why, "; ")})
	}
	out := ""
	switch {
	case len(body) > 0 && md:
		out = "\n" + report.MarkdownTable(head, body)
	case len(body) > 0:
		out = terminal(head, body)
	}
	var rest []string
	for _, o := range Outcomes {
		if left[o] > 0 {
			rest = append(rest, fmt.Sprintf("%d %s", left[o], o))
		}
	}
	if len(rest) > 0 {
		if md {
			out += "\n"
		}
		out += "not listed: " + strings.Join(rest, ", ") + " (--all lists them)\n"
	}
	return out
}

func terminal(head []string, body [][]string) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateRows = false
	row := func(cells []string) table.Row {
		var r table.Row
		for _, c := range cells {
			r = append(r, report.Plain(c))
		}
		return r
	}
	t.AppendHeader(row(head))
	for _, cells := range body {
		t.AppendRow(row(cells))
	}
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 3, Align: text.AlignRight}, {Number: 4, Align: text.AlignRight}, {Number: 5, Align: text.AlignRight}, {Number: 7, WidthMax: 70}})
	return t.Render() + "\n"
}

// Percent shows a ratio as a change.
func Percent(r float64) string {
	if v := 100 * (r - 1); v < 1000 && !math.IsNaN(v) {
		return fmt.Sprintf("%+.1f %%", v)
	}
	return "beyond +1000 %"
}

func number(v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf("%.5g", v)
}

// clean makes a document's text safe on a terminal, or in Markdown.
func clean(s string, md bool) string {
	if md {
		return report.Markdown(s)
	}
	return report.Plain(s)
}
