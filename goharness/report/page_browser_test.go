package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"ridge/goharness/record"
)

// browser opens pages in headless Chromium and notes what they complain of and ask for.
type browser struct {
	t        *testing.T
	ctx      context.Context
	mu       sync.Mutex
	problems []string
}

// openBrowser skips the test where no Chromium is installed.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium here (Debian: apt-get install chromium)")
	}
	// Not t.TempDir: the browser's last processes may still write into it when the test ends.
	profile, err := os.MkdirTemp("", "ridge-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(profile) })
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(90*time.Second))
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	b := &browser{t: t, ctx: ctx}
	note := func(format string, a ...any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, fmt.Sprintf(format, a...))
	}
	chromedp.ListenTarget(ctx, func(e any) {
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			note("exception: %s", e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				for _, a := range e.Args {
					note("console: %s", a.Value)
				}
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
				note("log: %s", e.Entry.Text)
			}
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, "file:") && !strings.HasPrefix(u, "data:") {
				note("request: %s", u)
			}
		}
	})
	b.run(network.Enable(), log.Enable())
	return b
}

func (b *browser) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// eval gives the value of an expression.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	var v T
	b.run(chromedp.Evaluate(expression, &v))
	return v
}

// open shows the documents' page in a window of the given size and draws all charts.
func (b *browser) open(width, height int64, docs ...record.Calibration) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "page.html")
	f, err := os.Create(file)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := WritePage(f, docs); err != nil {
		b.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.run(chromedp.EmulateViewport(width, height), chromedp.Navigate("file://"+file), chromedp.WaitReady(`html[data-ready=yes]`, chromedp.ByQuery))
	eval[int](b, "drawAll(), charts.length")
}

func (b *browser) noProblems() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		b.t.Error(p)
	}
	b.problems = nil
}

// hover moves the mouse over the first point of a chart for which an expression of the row r holds, and gives the tooltip.
func (b *browser) hover(chart, expression string) string {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(charts.find((c) => c.box.closest(%q)).box.scrollIntoView({behavior: "instant", block: "center"}), true)`, chart))
	b.run(chromedp.Sleep(700 * time.Millisecond)) // an earlier smooth scroll ends first
	var at []float64
	b.run(chromedp.Evaluate(fmt.Sprintf(`(() => {
		const c = charts.find((c) => c.box.closest(%q));
		for (const [i, s] of c.instance.getOption().series.entries()) for (const d of s.data) if (d && d.row && ((r) => %s)(d.row)) {
			const p = c.instance.convertToPixel({seriesIndex: i}, d.value), box = c.box.getBoundingClientRect();
			return [box.left + p[0], box.top + p[1]];
		}
		return [];
	})()`, chart, expression), &at))
	if len(at) != 2 {
		b.t.Fatalf("%s has no such point", chart)
	}
	text := ""
	for deadline := time.Now().Add(5 * time.Second); text == "" && time.Now().Before(deadline); {
		b.run(chromedp.MouseEvent(input.MouseMoved, at[0]-40, at[1]-30), chromedp.MouseEvent(input.MouseMoved, at[0], at[1]), chromedp.Sleep(150*time.Millisecond))
		text = eval[string](b, `[...document.querySelectorAll(".tip")].map((t) => t.innerText).join("\n")`)
	}
	if text == "" {
		b.t.Log(eval[string](b, fmt.Sprintf(`(() => { const e = document.elementFromPoint(%f, %f), c = charts.find((c) => c.box.contains(e)), box = c && c.box.getBoundingClientRect();
			const hit = c && c.instance.getZr().handler.findHover(%f - box.left, %f - box.top).target;
			return JSON.stringify([scrollY, innerHeight, e && e.outerHTML.slice(0, 80), c && c.title, hit && hit.type, hit && hit.z, hit && hit.silent]); })()`, at[0], at[1], at[0], at[1])))
	}
	return text
}

func TestThePageWorksInABrowser(t *testing.T) {
	b := openBrowser(t)
	doc := sample(t)
	b.open(1280, 900, doc)
	if n := eval[int](b, "charts.filter((c) => c.instance && c.box.querySelector('canvas')).length"); n < 5 {
		t.Errorf("%d charts drawn", n)
	}
	b.noProblems()

	t.Run("a phone shows every chart", func(t *testing.T) {
		b.run(chromedp.EmulateViewport(390, 844))
		if hidden := eval[[]string](b, "charts.filter((c) => c.box.getBoundingClientRect().width < 100).map((c) => c.title)"); len(hidden) > 0 {
			t.Errorf("not shown: %q", hidden)
		}
		b.run(chromedp.EmulateViewport(1280, 900))
	})
	t.Run("the table shows what the filter lets through", func(t *testing.T) {
		shown := func() int { return eval[int](b, "document.querySelectorAll('#table tbody tr.row').length") }
		all := shown()
		b.run(chromedp.SendKeys("#search", "gemm int8", chromedp.ByQuery), chromedp.Sleep(100*time.Millisecond))
		if n := shown(); n != 1 || all < 10 {
			t.Errorf("%d rows for gemm int8 of %d", n, all)
		}
		eval[bool](b, `(() => { field("search").value = ""; field("by-status").value = "crashed"; field("by-status").dispatchEvent(new Event("input")); return true; })()`)
		if text := eval[string](b, "document.querySelector('#table tbody').innerText"); shown() != 1 || !strings.Contains(text, "SIGILL in softmax_fp32_avx512") {
			t.Errorf("crashed results: %q", text)
		}
		eval[bool](b, `(() => { field("by-status").value = ""; field("by-status").dispatchEvent(new Event("input")); return true; })()`)
	})
	t.Run("a click on a heading sorts, what is not known last", func(t *testing.T) {
		order := func() []string {
			eval[bool](b, `[...document.querySelectorAll("#table thead button")].find((b) => b.textContent === "of ceiling").click() || true`)
			return eval[[]string](b, `[...document.querySelectorAll("#table td.fraction")].map((t) => t.textContent)`)
		}
		down, up := order(), order()
		if down[0] == none || up[0] == none || down[0] == up[0] || down[len(down)-1] != none || up[len(up)-1] != none {
			t.Errorf("descending %q, ascending %q", down, up)
		}
	})
	t.Run("hovering over a kernel tells shape, kernel, fraction and interval", func(t *testing.T) {
		text := b.hover("[data-chart=roofline]", `r.op === "gemm" && r.dtype === "int8"`)
		for _, want := range []string{"m=1024 n=1024 k=1024", "gemm_int8_avx2_4x16", "of its ceiling", "95 % interval", "GOPS"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in the tooltip %q", want, text)
			}
		}
	})
	t.Run("a row opens to its command line, conditions and verification", func(t *testing.T) {
		eval[bool](b, `showResult(rows.find((r) => r.op === "gemm" && r.dtype === "int8")) || true`)
		text := eval[string](b, `document.querySelector("#table tr.more").innerText`)
		for _, want := range []string{"ridge bench --case cpu/gemm/int8/m=1024,n=1024,k=1024/threads=2/hot", "gcc 12.2.0", "3.48 GHz", "of 1048576 elements"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %q", want, text)
			}
		}
	})
	t.Run("every row has its case's id", func(t *testing.T) {
		for i, id := range eval[[]string](b, "rows.map((r) => r.id)")[:len(doc.Results)] {
			if id != doc.Results[i].ID {
				t.Errorf("row %d: %q, expected %q", i, id, doc.Results[i].ID)
			}
		}
	})
	t.Run("every row has its case's command line", func(t *testing.T) {
		for i, line := range eval[[]string](b, "rows.map((r) => r.reproduce)")[:len(doc.Results)] {
			if line != doc.Results[i].Reproduce {
				t.Errorf("row %d: %q, expected %q", i, line, doc.Results[i].Reproduce)
			}
		}
	})
	t.Run("colours follow the system", func(t *testing.T) {
		scheme := func(name string) string {
			b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}), chromedp.Sleep(200*time.Millisecond))
			return eval[string](b, `getComputedStyle(document.body).backgroundColor + theme().ink`)
		}
		if scheme("dark") == scheme("light") {
			t.Error("dark and light look the same")
		}
	})
	t.Run("a phone scrolls in one direction", func(t *testing.T) {
		b.open(390, 844, doc)
		if w := eval[int](b, "document.documentElement.scrollWidth"); w > 390 {
			t.Errorf("the page is %d wide on a screen of 390", w)
		}
		if over := eval[int](b, `(() => { const box = document.querySelector("#table").parentElement; return box.scrollWidth - box.clientWidth; })()`); over > 0 {
			t.Errorf("the table is %d wider than its box", over)
		}
	})
	b.noProblems()
}

func TestHostileTextStaysTextInTheBrowser(t *testing.T) {
	b := openBrowser(t)
	b.open(1280, 900, hostile(t), hostile(t))
	tip := b.hover("[data-chart=roofline]", `r.op === "gemm"`)
	if !strings.Contains(tip, "<script>window.hacked=1</script>") {
		t.Errorf("the tooltip is %q", tip)
	}
	eval[bool](b, `showResult(rows.find((r) => r.op === "gemm")) || true`)
	if text := eval[string](b, `document.querySelector("#table tr.more").innerText`); !strings.Contains(text, "<script>window.hacked=1</script>") {
		t.Errorf("the details are %q", text)
	}
	b.run(chromedp.Sleep(200 * time.Millisecond))
	if eval[bool](b, "'hacked' in window || document.images.length > 0") {
		t.Error("text of a document became markup")
	}
	b.noProblems()
}

func TestTenMachinesOpenInTheBrowser(t *testing.T) {
	b := openBrowser(t)
	start := time.Now()
	b.open(1280, 900, machines(t, 10, 1000)...)
	t.Logf("page of 10 machines with 1,000 results each: all charts and the table after %v", time.Since(start).Round(time.Millisecond))
	if n := eval[int](b, "document.querySelectorAll('#table tbody tr.row').length"); n != 200 {
		t.Errorf("%d rows shown at first", n)
	}
	b.noProblems()
}

func TestPowerAndEfficiencyInTheBrowser(t *testing.T) {
	b := openBrowser(t)
	b.open(1280, 900, withEnergy(t))
	if n := eval[int](b, `charts.filter((c) => c.box.closest("[data-chart=energy]")).length`); n != 2 {
		t.Fatalf("%d charts of energy", n)
	}
	text := b.hover("[data-chart=energy] > .panel:nth-child(2)", `r.op === "gemm" && r.dtype === "int8"`)
	for _, want := range []string{" GOPS/W, ± 3.0 % by the meter", "gemm_int8_avx2_4x16", " W"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the tooltip %q", want, text)
		}
	}
	b.noProblems()
}

func TestAProfilesEnergiesInTheBrowser(t *testing.T) {
	b := openBrowser(t)
	b.open(390, 844, fusionEnergies(t), sample(t))
	if over := eval[int](b, `(() => { showResult(rows[0]); const box = document.querySelector("#table").parentElement; return box.scrollWidth - box.clientWidth; })()`); over > 0 {
		t.Errorf("two machines and an open row: the table is %d wider than its box", over)
	}
	if titles := eval[string](b, `charts.filter((c) => c.box.closest("[data-chart=energy]")).map((c) => c.title).join("\n")`); !strings.Contains(titles, "Mean power") || !strings.Contains(titles, "Energy saved by fusion") {
		t.Errorf("charts %q", titles)
	}
	tip := eval[string](b, `(() => { const c = charts.find((c) => /saved/.test(c.title)).instance.getOption(); const s = c.series[c.series.length - 1].data[0].s;
		return c.tooltip[0].formatter({data: {s}}).innerText; })()`)
	for _, want := range []string{"times the energy when unfused, 95 % interval", "J a launch unfused"} {
		if !strings.Contains(tip, want) {
			t.Errorf("no %q in %q", want, tip)
		}
	}
	b.noProblems()
}

// All charts of few machines are there without scrolling: a page may be photographed as a whole.
func TestChartsAreDrawnWithoutScrolling(t *testing.T) {
	b := openBrowser(t)
	b.open(390, 844, withEnergy(t), fusionEnergies(t))
	b.run(chromedp.Poll("charts.length > 8 && charts.every((c) => c.instance)", nil, chromedp.WithPollingTimeout(60*time.Second)))
	b.noProblems()
}
