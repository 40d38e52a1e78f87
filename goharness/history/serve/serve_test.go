package serve

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ridge/goharness/history"
	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// site is a server's handler on a history with one run whose names are hostile.
func site(t *testing.T, o Options) (http.Handler, record.Calibration) {
	t.Helper()
	o.DataDir = t.TempDir()
	s, err := history.Open(t.Context(), o.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := recordtest.Sample()
	d.Results[0].Kernel = `<script>alert("x")</script>`
	d.Host.Hostname = "a\"b\\c\nd<img>"
	if _, err := s.Add(t.Context(), d, history.FromRun); err != nil {
		t.Fatal(err)
	}
	return Handler(o), d
}

func local8470(target string) *http.Request {
	r := httptest.NewRequest("GET", target, nil)
	r.Host = "localhost:8470"
	return r
}

func get(h http.Handler, target string, edit ...func(r *http.Request)) *httptest.ResponseRecorder {
	r := local8470(target)
	for _, e := range edit {
		e(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPagesAndAPI(t *testing.T) {
	h, d := site(t, Options{})
	id := d.Results[0].ID
	for target, want := range map[string]string{
		"/": d.RunID, "/run/" + d.RunID: id, "/cases?q=gemm": "gemm", "/live": "No run is going on", "/trend?case=" + id: "1 runs",
		"/trend.svg?case=" + id: "<svg", "/api/v1/runs": d.RunID, "/api/v1/runs/latest": `"schema": "ridge.calibration/1"`,
		"/api/v1/trend?case=" + id: `"points"`, "/api/v1/live": `"running": false`, "/metrics": "ridge_case_time_seconds{case=",
	} {
		w := get(h, target)
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d, expected %q in\n%.600s", target, w.Code, want, w.Body)
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") && strings.Contains(w.Body.String(), `<script>alert("x")`) {
			t.Errorf("%s: a kernel's name is script", target)
		}
	}
	text := get(h, "/api/v1/runs/"+d.RunID).Body.String()
	if _, err := record.ReadCalibration(strings.NewReader(text)); err != nil {
		t.Errorf("the API's document: %v", err)
	}
	if !strings.Contains(get(h, "/metrics").Body.String(), `host="a\"b\\c\nd<img>"`) {
		t.Error("metrics: the host's name is not escaped")
	}
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	h, _ := site(t, Options{})
	for target, code := range map[string]int{
		"/nothing": 404, "/run/nothing": 404, "/api/v1/runs/nothing": 404, "/trend?case=x": 404, "/trend": 400, "/trend?case=x&metric=y": 400,
		"/api/v1/live/document": 404, "/run/..%2f..%2fetc%2fpasswd": 400, "/run/%00": 400, "/run/" + strings.Repeat("a", 5000): 414,
		`/run/..%5c..%5cx`: 400, "/run/%27%3B%20DROP%20TABLE%20runs": 404, "//run/../../etc/passwd": 400,
	} {
		if w := get(h, target); w.Code != code {
			t.Errorf("%.60s: %d, expected %d", target, w.Code, code)
		}
	}
	empty := Handler(Options{DataDir: t.TempDir()})
	for target, code := range map[string]int{"/": 200, "/api/v1/runs": 200, "/metrics": 404, "/run/latest": 404} {
		if w := get(empty, target); w.Code != code {
			t.Errorf("no history, %s: %d, expected %d", target, w.Code, code)
		}
	}
}

func TestItOnlyReads(t *testing.T) {
	h, _ := site(t, Options{})
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT"} {
		if w := get(h, "/", func(r *http.Request) { r.Method = method }); w.Code != 405 {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	if w := get(h, "/", func(r *http.Request) { r.Method = "HEAD" }); w.Code != 200 {
		t.Errorf("HEAD: %d", w.Code)
	}
}

func TestOtherNamesForLoopbackAreRefused(t *testing.T) {
	h, _ := site(t, Options{})
	for host, code := range map[string]int{"localhost": 200, "LOCALHOST:1": 200, "127.0.0.1:8470": 200, "127.9.9.9": 200, "[::1]:8470": 200,
		"evil.example:8470": 403, "localhost.evil.example": 403, "192.168.1.2:8470": 403, "": 403, "127.0.0.1.evil.example": 403} {
		if w := get(h, "/", func(r *http.Request) { r.Host = host }); w.Code != code {
			t.Errorf("Host %q: %d, expected %d", host, w.Code, code)
		}
	}
}

func TestRemoteRequestsNeedTheToken(t *testing.T) {
	const token = "0123456789abcdef"
	h, _ := site(t, Options{Remote: true, Token: token})
	for auth, code := range map[string]int{"": 401, "Bearer " + token: 200, "Bearer wrong": 401, "Bearer ": 401, token: 401, "Bearer " + token + "x": 401} {
		if w := get(h, "/", func(r *http.Request) { r.Header.Set("Authorization", auth); r.Host = "example.org" }); w.Code != code {
			t.Errorf("%q: %d, expected %d", auth, w.Code, code)
		}
	}
	if w := get(h, "/", func(r *http.Request) { r.SetBasicAuth("me", token) }); w.Code != 200 {
		t.Errorf("as password: %d", w.Code)
	}
	none, _ := site(t, Options{Remote: true})
	if w := get(none, "/", func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }); w.Code != 401 {
		t.Errorf("a server without a token: %d", w.Code)
	}
}

// A client that does not read holds its page and no slot.
func TestSlowClientsDoNotHoldOthersUp(t *testing.T) {
	h, d := site(t, Options{})
	stuck := make(chan struct{})
	defer close(stuck)
	for range 4 * mostAtOnce {
		go h.ServeHTTP(&slowWriter{httptest.NewRecorder(), stuck}, local8470("/run/"+d.RunID))
	}
	done := make(chan int, 1)
	go func() { done <- get(h, "/").Code }()
	select {
	case code := <-done:
		if code != 200 {
			t.Error(code)
		}
	case <-time.After(30 * time.Second):
		t.Error("slow clients hold the server")
	}
}

type slowWriter struct {
	*httptest.ResponseRecorder
	stuck chan struct{}
}

func (w *slowWriter) Write(b []byte) (int, error) { <-w.stuck; return len(b), nil }

// The lines of /metrics are Prometheus' text format 0.0.4: HELP and TYPE before a family's samples, which are together and unique.
func TestMetricsAreWellFormed(t *testing.T) {
	h, _ := site(t, Options{})
	label := `[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"`
	sample := regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{(?:` + label + `(?:,` + label + `)*)?\} ([-+0-9.e]+|[+-]Inf|NaN)$`)
	family, seen, over := "", map[string]bool{}, map[string]bool{}
	for _, line := range strings.Split(strings.TrimSuffix(get(h, "/metrics").Body.String(), "\n"), "\n") {
		if name, ok := strings.CutPrefix(line, "# HELP "); ok {
			over[family] = true
			if family, _, _ = strings.Cut(name, " "); over[family] {
				t.Errorf("family %s comes twice", family)
			}
			continue
		}
		if strings.HasPrefix(line, "# ") {
			if line != "# TYPE "+family+" gauge" {
				t.Errorf("%q after the help of %s", line, family)
			}
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || m[1] != family || seen[strings.TrimSuffix(line, m[2])] {
			t.Errorf("not a new sample of %s: %q", family, line)
			continue
		}
		seen[strings.TrimSuffix(line, m[2])] = true
	}
	if len(seen) < 5 {
		t.Errorf("%d samples", len(seen))
	}
}

// A picture is XML whatever a case is named.
func TestPlotsOfHostileNamesAreWellFormed(t *testing.T) {
	tr := history.Trend{Case: "<script>alert(1)</script>\x00\x1b[31m&\"'", Metric: "time", Unit: "ns", Points: []history.Point{{RunID: "r", Created: "yesterday", Value: 3}}}
	var b bytes.Buffer
	if err := tr.Plot(&b); err != nil {
		t.Fatal(err)
	}
	for x := xml.NewDecoder(&b); ; {
		tok, err := x.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "script" {
			t.Error("a case's name is script")
		}
	}
}

func TestLoopbackAddresses(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true, ":1": false, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "example.org:1": false} {
		if got, err := Loopback(address); got != want || err != nil {
			t.Errorf("%s: %v %v, expected %v", address, got, err, want)
		}
	}
	for _, address := range []string{"", "8470", "127.0.0.1", "127.0.0.1:"} {
		if _, err := Loopback(address); err == nil {
			t.Errorf("%q: no error", address)
		}
	}
}

func TestARunThatIsGoingOnIsShown(t *testing.T) {
	o := Options{DataDir: t.TempDir()}
	runs := filepath.Join(o.DataDir, "runs")
	if err := os.Mkdir(runs, 0o755); err != nil {
		t.Fatal(err)
	}
	d := recordtest.Sample()
	j, err := record.Create(filepath.Join(runs, "now.jsonl"), record.JournalHeader{RunID: "now", Created: d.Created, Command: d.Command, Tool: &d.Tool, Host: &d.Host, Planned: 40})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Append(record.Entry{Kind: record.EntryResult, Result: &d.Results[0]}); err != nil {
		t.Fatal(err)
	}
	h := Handler(o)
	var live struct {
		Running bool   `json:"running"`
		RunID   string `json:"run_id"`
		Results int    `json:"results"`
	}
	if err := json.Unmarshal(get(h, "/api/v1/live").Body.Bytes(), &live); err != nil || !live.Running || live.RunID != "now" || live.Results != 1 {
		t.Errorf("%+v %v", live, err)
	}
	if w := get(h, "/live"); !strings.Contains(w.Body.String(), "Run now") || !strings.Contains(w.Body.String(), "refresh") || !strings.Contains(w.Body.String(), "1 of 40 planned") || !strings.Contains(w.Body.String(), "<td>ok</td>") {
		t.Errorf("%s", w.Body)
	}
	if _, err := record.ReadCalibration(get(h, "/api/v1/live/document").Body); err != nil {
		t.Error(err)
	}
}
