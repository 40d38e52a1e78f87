package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ridge/goharness/record"
)

func writeMarkdown(w io.Writer, docs []record.Calibration) error {
	var b strings.Builder
	for i := range docs {
		d := &docs[i]
		fmt.Fprintf(&b, "# %s %s, run %s\n\n", md(d.Tool.Name), md(d.Tool.Version), md(d.RunID))
		fmt.Fprintf(&b, "%s · %s · %s\n\n", md(d.Created), md(d.Host.CPU.Model), md(countsText(&d.Summary)))
		var results []gridRow
		for n := range d.Results {
			results = append(results, gridRow{cells: append(resultCells(&d.Results[n]), remarks(&d.Results[n]))})
		}
		cols, results := withoutUnused(resultColumns, results)
		var rows [][]string
		for _, r := range results {
			rows = append(rows, r.cells)
		}
		mdTable(&b, "Results", append(names(cols), "remarks"), rows)
		profiles, err := record.FusionProfiles(d)
		if err != nil {
			return err
		}
		for n := range profiles {
			mdFusion(&b, &profiles[n])
		}
		rows = nil
		for n := range d.Ceilings {
			rows = append(rows, append(ceilingCells(&d.Ceilings[n]), gap(&d.Ceilings[n])))
		}
		mdTable(&b, "Ceilings", append(names(ceilingColumns), "diagnosis"), rows)
		rows = nil
		for _, s := range suiteNames(&d.Summary) {
			rows = append(rows, summaryCells(s, d.Summary.Suites[s]))
		}
		mdTable(&b, "Summary", names(summaryColumns), rows)
		for _, warning := range d.Summary.Warnings {
			fmt.Fprintf(&b, "- warning: %s\n", md(warning))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mdFusion(b *strings.Builder, f *record.Fusion) {
	shapes, advice, _ := fusionRows(f)
	table := func(title, last string, cols []column, of []gridRow) {
		var rows [][]string
		for _, r := range of {
			rows = append(rows, append(r.cells, r.below))
		}
		mdTable(b, title, append(names(cols), last), rows)
	}
	table("Fusion patterns", "remarks", fusionColumns, shapes)
	table("Recommendations", "reason", adviceColumns, advice)
}

func names(cols []column) []string {
	var out []string
	for _, c := range cols {
		out = append(out, c.name)
	}
	return out
}

func mdTable(b *strings.Builder, title string, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "## %s\n\n", title)
	mdRows(b, head, rows)
	b.WriteString("\n")
}

func mdRows(b *strings.Builder, head []string, rows [][]string) {
	line := func(cells []string) {
		b.WriteString("|")
		for _, c := range cells {
			b.WriteString(" " + md(c) + " |")
		}
		b.WriteString("\n")
	}
	line(head)
	b.WriteString("|" + strings.Repeat(" --- |", len(head)) + "\n")
	for _, r := range rows {
		line(r)
	}
}

// mdEscapes keeps text from becoming markup, links and entities included.
var mdEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "<", "&lt;", "&", "&amp;", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`)

// md makes text safe inside a table cell.
func md(s string) string { return mdEscapes.Replace(clean(s)) }

// Markdown makes text from a document safe in Markdown.
func Markdown(s string) string { return md(s) }

// MarkdownTable gives a table of any texts.
func MarkdownTable(head []string, rows [][]string) string {
	var b strings.Builder
	mdRows(&b, head, rows)
	return b.String()
}

// MarkdownResults gives one Markdown table of the results, with the columns of the results
// table that are named, in that order. An unknown column is an error that lists them all.
func MarkdownResults(rs []record.Result, columns ...string) (string, error) {
	var rows [][]string
	for i := range rs {
		rows = append(rows, resultCells(&rs[i]))
	}
	return mdColumns(resultColumns, rows, columns)
}

// MarkdownCeilings does the same for ceilings.
func MarkdownCeilings(cs []record.Ceiling, columns ...string) (string, error) {
	var rows [][]string
	for i := range cs {
		rows = append(rows, ceilingCells(&cs[i]))
	}
	return mdColumns(ceilingColumns, rows, columns)
}

func mdColumns(have []column, rows [][]string, want []string) (string, error) {
	var at []int
	for _, name := range want {
		i := slices.IndexFunc(have, func(c column) bool { return c.name == name })
		if i < 0 {
			return "", fmt.Errorf("column %q: expected one of %s", name, strings.Join(names(have), ", "))
		}
		at = append(at, i)
	}
	var b strings.Builder
	pick := make([][]string, len(rows))
	for i, row := range rows {
		for _, n := range at {
			pick[i] = append(pick[i], row[n])
		}
	}
	mdRows(&b, want, pick)
	return b.String(), nil
}
