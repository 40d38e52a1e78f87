package report

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// evilText tries to become markup, a control sequence, a new line, a table cell and a formula, and to turn the direction of what follows.
const evilText = "=</script><script>window.hacked=1</script><img src=x onerror=\"window.hacked=1\"> | `\x1b[31m\u202e\u2066\u2028\u200f\r\n- [x](javascript:alert(1)) \x00\x9b31m"

// fillTexts puts text into every field of a value that may hold any text, keys of maps included, but for those whose path keep names.
func fillTexts(v reflect.Value, path, text string, keep func(path string) bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Kind() == reflect.Pointer {
			fillTexts(v.Elem(), path, text, keep)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillTexts(v.Field(i), path+"."+v.Type().Field(i).Name, text, keep)
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return
		}
		for i := range v.Len() {
			fillTexts(v.Index(i), path, text, keep)
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String || v.IsNil() || keep(path) {
			return
		}
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			fillTexts(e, path+"[]", text, keep)
			v.SetMapIndex(k, e)
			if k.Type() != reflect.TypeFor[record.Status]() {
				v.SetMapIndex(reflect.ValueOf(k.String()+text).Convert(k.Type()), e)
			}
		}
	case reflect.String:
		if v.Type() != reflect.TypeFor[record.Status]() && !keep(path) {
			v.SetString(text)
		}
	}
}

// allHostile are documents every text of which is text: one that no view knows a word of, and one that they show all of.
func allHostile(t *testing.T, text string) []record.Calibration {
	t.Helper()
	var out []record.Calibration
	for _, known := range [][]string{nil, {".ID", ".Op", ".DType", ".Device", ".Kind", ".Level", ".Platform", ".Mode", ".Bound", ".MemoryLevel", ".UseCase", ".Schema", ".CaseID", ".Parameter"}} {
		keep := func(path string) bool {
			for _, k := range known {
				if strings.HasSuffix(path, k) {
					return true
				}
			}
			return false
		}
		doc, profile := recordtest.Sample(), recordtest.Fusion(recordtest.Sample())
		fillTexts(reflect.ValueOf(&doc), "", text, keep)
		fillTexts(reflect.ValueOf(&profile), "", text, keep)
		raw, err := json.Marshal(profile)
		if err != nil {
			t.Fatal(err)
		}
		doc.FusionProfiles = []json.RawMessage{raw}
		out = append(out, doc)
	}
	return out
}

func TestNoTextOfAnyFieldSteersAView(t *testing.T) {
	docs := allHostile(t, evilText)
	for _, v := range Views() {
		if v.Files != nil || v.Name == "json" || v.Name == "graphs" { // JSON's own escapes
			continue
		}
		out := show(t, v.Name, docs...)
		if v.Name == "html" {
			if n, want := strings.Count(out, "<script"), strings.Count(show(t, "html", sample(t)), "<script"); n != want {
				t.Errorf("html: %d script elements, expected %d", n, want)
			}
			if text := regexp.MustCompile(`(?s)<script[^>]*>.*?</script>`).ReplaceAllString(out, ""); strings.Contains(text, "<img") || strings.Contains(text, "href=\"javascript") {
				t.Error("html: text became markup")
			}
		}
		for i, r := range out {
			if (unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029') && !inScript(v.Name, out, i) {
				t.Errorf("%s: %U at %q", v.Name, r, out[max(0, i-60):min(len(out), i+20)])
				break
			}
		}
		if v.Name == "md" {
			for _, line := range strings.Split(out, "\n") {
				if strings.Contains(line, "<img") || strings.Contains(line, "[x](") {
					t.Errorf("md: %.200q", line)
					break
				}
			}
		}
	}
	if _, err := WritePlots(t.TempDir(), docs); err != nil {
		t.Error("plots:", err)
	}
}

// inScript: the page's own scripts and data, which are checked apart, hold what no document wrote.
func inScript(view, out string, at int) bool {
	return view == "html" && strings.LastIndex(out[:at], "<script") > strings.LastIndex(out[:at], "</script")
}

// A text may have 1 MiB. No view repeats it whole.
func TestLongTextsAreCutInEveryView(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it writes a hundred megabytes, in one goroutine; under the race detector for a minute")
	}
	for _, doc := range allHostile(t, strings.Repeat("<x>é", 1<<14)) {
		for _, v := range Views() {
			if v.Files != nil || v.Name == "json" || v.Name == "graphs" {
				continue
			}
			if out := show(t, v.Name, doc); len(out) > 24<<20 || strings.Contains(out, strings.Repeat("<x>é", longestText)) {
				t.Errorf("%s: %d MB", v.Name, len(out)>>20)
			}
		}
	}
}

func TestTextOfAnyFieldStaysTextInTheBrowser(t *testing.T) {
	b := openBrowser(t)
	b.open(1280, 900, allHostile(t, evilText)...)
	eval[bool](b, "(() => { for (const tr of [...document.querySelectorAll('#table tbody tr.row')].slice(0, 30)) tr.click(); return true; })()")
	if eval[bool](b, "'hacked' in window || document.images.length > 0") {
		t.Error("text of a document became markup")
	}
	if n := eval[int](b, "document.scripts.length"); n != len(pageScripts)+1 {
		t.Errorf("%d scripts", n)
	}
	b.noProblems()
}

// Who sees no chart hears what it shows, and who has no mouse gets to everything of the table.
func TestChartsHaveATextAndTheTableTheKeyboard(t *testing.T) {
	b := openBrowser(t)
	b.open(1280, 900, withEnergy(t), fusionEnergies(t))
	for _, c := range eval[[][2]string](b, `charts.map((c) => [c.title, c.box.getAttribute("aria-label")])`) {
		if text := strings.TrimPrefix(c[1], c[0]+": "); text == c[1] || len(text) < 10 || !strings.ContainsAny(text, "0123456789") || strings.Contains(text, "NaN") || strings.Contains(text, "undefined") {
			t.Errorf("%s: its text is %q", c[0], c[1])
		}
	}
	press := func(key string) { b.run(chromedp.KeyEvent(key)) }
	eval[bool](b, `(() => { field("more").focus(); document.querySelector("#search").focus(); return true; })()`)
	reached := map[string]bool{}
	for range 60 {
		press(kb.Tab)
		reached[eval[string](b, `(() => { const e = document.activeElement; return e.closest("thead") ? "sort" : e.closest("tr.row") ? "row" : e.id; })()`)] = true
	}
	for _, want := range []string{"by-suite", "by-dtype", "by-status", "probes", "sort", "row"} {
		if !reached[want] {
			t.Errorf("the keyboard does not get to %s: %v", want, reached)
		}
	}
	eval[bool](b, `(() => { document.querySelector("#table tr.row button").focus(); return true; })()`)
	press(kb.Enter)
	if !eval[bool](b, `document.querySelector("#table tr.row").nextSibling.classList.contains("more") && document.querySelector("#table tr.row button").getAttribute("aria-expanded") === "true"`) {
		t.Error("Enter does not open a row")
	}
	press(kb.Enter)
	if eval[bool](b, `document.querySelector("#table tr.more") !== null`) {
		t.Error("Enter does not close it")
	}
	eval[bool](b, `(() => { [...document.querySelectorAll("#table thead button")][1].focus(); return true; })()`)
	press(kb.Enter)
	if got := eval[string](b, `(() => { const e = document.activeElement; return e.closest("thead") ? "sort" : String(e.tagName); })()`); got != "sort" {
		t.Errorf("after sorting the focus is on %s", got)
	}
	b.noProblems()
}

// fillNumbers puts a number into every float64 of a value.
func fillNumbers(v reflect.Value, x float64) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fillNumbers(v.Elem(), x)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillNumbers(v.Field(i), x)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			fillNumbers(v.Index(i), x)
		}
	case reflect.Float64:
		v.SetFloat(x)
	}
}

// Numbers that a document may hold and nothing measures, products of which no float64 holds, are shown as what is not known.
func TestFiguresBeyondAllNumbersAreNotShown(t *testing.T) {
	beyond := regexp.MustCompile(`(^|[^A-Za-z_.])(NaN|Inf(inity)?)([^A-Za-z_(]|$)`)
	for _, x := range []float64{math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 0} {
		doc, profile := withEnergy(t), recordtest.Fusion(recordtest.Sample())
		fillNumbers(reflect.ValueOf(&doc), x)
		fillNumbers(reflect.ValueOf(&profile), x)
		text, err := json.Marshal(profile)
		if err != nil {
			t.Fatal(err)
		}
		doc.FusionProfiles = []json.RawMessage{text}
		for _, v := range Views() {
			if v.Files != nil || v.Name == "graphs" { // which refuses them
				continue
			}
			var b strings.Builder
			if err := v.Write(&b, []record.Calibration{doc}); err != nil {
				t.Errorf("%g, %s: %v", x, v.Name, err)
			}
			shown := b.String()
			if v.Name == "html" {
				shown = regexp.MustCompile(`(?s)<script( nonce="[^"]*")?>.*?</script>`).ReplaceAllString(shown, "")
			}
			if at := beyond.FindStringIndex(shown); at != nil {
				t.Errorf("%g, %s: …%s…", x, v.Name, shown[max(0, at[0]-80):min(len(shown), at[1]+40)])
			}
		}
	}
}

func ExampleMarkdownTable() {
	fmt.Print(MarkdownTable([]string{"a", "b"}, [][]string{{"1|2", `\|`}}))
	// Output:
	// | a | b |
	// | --- | --- |
	// | 1\|2 | \\\| |
}
