package report

import (
	"bytes"
	"context"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	paper "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// papers in CSS pixels between the margins that browsers leave: 0.4 inches, 0.5 in Firefox.
var papers = map[string]int64{"A4": 717, "A4, wide margins": 697, "Letter": 739}

func TestThePageFitsOnPaper(t *testing.T) {
	b := openBrowser(t)
	b.open(1280, 900, fusionEnergies(t), sample(t))
	b.run(emulation.SetEmulatedMedia().WithMedia("print").WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	for name, width := range papers {
		b.run(chromedp.EmulateViewport(width, 1000))
		eval[bool](b, `dispatchEvent(new Event("beforeprint"))`)
		if cut := eval[[]string](b, `charts.filter((c) => { const r = c.panel.getBoundingClientRect(), d = c.box.querySelector("canvas").getBoundingClientRect(); return d.right > r.right || d.left < r.left || r.right > innerWidth; }).map((c) => c.title)`); len(cut) > 0 {
			t.Errorf("%s: charts are wider than their frames: %q", name, cut)
		}
		if over := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%s: the page is %d too wide", name, over)
		}
		if shown := eval[[]string](b, `[...document.querySelectorAll("button, input, select, nav, summary, label")].filter((e) => e.offsetParent !== null && !e.closest("td.status") && !e.closest("details[open]")).map((e) => e.outerHTML.slice(0, 80))`); len(shown) > 0 {
			t.Errorf("%s: nobody can press these: %q", name, shown)
		}
		// A heading that a browser repeats on each page is drawn without the controls in it.
		if empty := eval[[]string](b, `[...document.querySelectorAll("#table thead th")].filter((h) => h.offsetParent !== null && getComputedStyle(h, "::before").content !== JSON.stringify(h.textContent)).map((h) => h.textContent)`); len(empty) > 0 {
			t.Errorf("%s: headings without their text: %q", name, empty)
		}
		if ink := eval[string](b, `theme().ink + getComputedStyle(document.body).color + getComputedStyle(document.body).backgroundColor`); ink != "#000rgb(0, 0, 0)rgb(255, 255, 255)" {
			t.Errorf("%s: drawn in %s", name, ink)
		}
		eval[bool](b, `dispatchEvent(new Event("afterprint"))`)
	}
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		pdf, _, err := paper.PrintToPDF().Do(ctx)
		if err == nil && (!bytes.HasPrefix(pdf, []byte("%PDF-")) || len(pdf) < 50_000) {
			t.Errorf("a PDF of %d bytes", len(pdf))
		}
		return err
	}))
	b.noProblems()
}
