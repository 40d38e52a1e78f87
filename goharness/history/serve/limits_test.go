package serve

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ridge/goharness/history"
	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// What clients asked for and do not read is bounded; who asks then is told to come again.
func TestAnswersThatNobodyReadsAreBounded(t *testing.T) {
	s := newServer(Options{})
	const size = mostHeld / 8
	var come atomic.Int64 // those whose answer is made, or that were refused before
	stuck := make(chan struct{})
	var wg sync.WaitGroup
	codes := make(chan int, 100)
	for range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			w := &slowWriter{httptest.NewRecorder(), stuck}
			var once sync.Once
			counts := func() { come.Add(1) }
			s.answer(w, local8470("/"), func(*http.Request) (answer, error) {
				once.Do(counts)
				return send("text/plain", make([]byte, size))
			})
			once.Do(counts)
			codes <- w.Code
		}()
	}
	for end := time.Now().Add(30 * time.Second); come.Load() < 20 || len(s.slots) > 0 || s.held.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the answers are not made")
		}
	}
	time.Sleep(50 * time.Millisecond)
	if held := s.held.Load(); held > mostHeld+mostAtOnce*size { // those that are refused just now
		t.Errorf("%d MB are held", held>>20)
	}
	close(stuck)
	wg.Wait()
	close(codes)
	count := map[int]int{}
	for c := range codes {
		count[c]++
	}
	if count[200] > 8 || count[200] < 1 || count[503] != 20-count[200] {
		t.Errorf("answers by code: %v", count)
	}
	if held := s.held.Load(); held != 0 {
		t.Errorf("%d bytes are held when all is read", held)
	}
	w := httptest.NewRecorder()
	s.answer(w, local8470("/"), func(*http.Request) (answer, error) { return send("text/plain", make([]byte, mostHeld+1)) })
	if w.Code != 200 {
		t.Errorf("a single answer that is larger: %d", w.Code)
	}
}

// listening is a whole server on a port of loopback.
func listening(t *testing.T, o Options) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	s := Server(o)
	go func() { _ = s.Serve(Listener(l)) }()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

// Thousands of requests at once are answered in turn, by a bounded number of goroutines.
func TestThousandsOfRequestsAtOnceAreAnswered(t *testing.T) {
	o := Options{DataDir: t.TempDir()}
	address := listening(t, o)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 50 * time.Second}
	before, most := runtime.NumGoroutine(), 0
	const requests = 1500
	var wg sync.WaitGroup
	begin, failed := make(chan struct{}), make(chan error, requests)
	for range requests {
		wg.Add(1)
		go func() {
			defer wg.Done()
			<-begin
			resp, err := client.Get("http://" + address + "/live")
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != 200 {
					err = fmt.Errorf("status %d", resp.StatusCode)
				}
			}
			if err != nil {
				failed <- err
			}
		}()
	}
	close(begin)
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for open := true; open; {
		select {
		case <-done:
			open = false
		case <-time.After(5 * time.Millisecond):
			most = max(most, ofServer(t))
		}
	}
	close(failed)
	for err := range failed {
		t.Error(err)
		break
	}
	if most > mostConnections+8 {
		t.Errorf("%d connections are served at once, at most %d are expected (%d goroutines before)", most, mostConnections, before)
	}
}

// ofServer counts the goroutines that serve connections.
func ofServer(t *testing.T) int {
	t.Helper()
	buf := make([]byte, 32<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), "net/http.(*conn).serve(")
}

// A client that sends its request letter by letter, or none, is cut off, and others are answered meanwhile.
func TestClientsThatSendSlowlyAreCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it waits for the server's limit of time")
	}
	address := listening(t, Options{DataDir: t.TempDir()})
	var slow []net.Conn
	for range 50 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: localhost\r\nX-")
		slow = append(slow, c)
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() { // a letter each quarter of a second
		for {
			select {
			case <-stop:
				return
			case <-time.After(250 * time.Millisecond):
				for _, c := range slow {
					fmt.Fprint(c, "a")
				}
			}
		}
	}()
	resp, err := http.Get("http://" + address + "/live")
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	for i, c := range slow {
		_ = c.SetReadDeadline(time.Now().Add(15 * time.Second))
		if _, err := io.ReadAll(c); err != nil {
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				t.Fatalf("client %d is still there: %v", i, err)
			}
		}
	}
}

func TestHugeHeadersAreRefused(t *testing.T) {
	address := listening(t, Options{DataDir: t.TempDir()})
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: localhost\r\n")
		for range 1 << 14 {
			if _, err := fmt.Fprintf(c, "X-A: %s\r\n", strings.Repeat("a", 1000)); err != nil {
				return
			}
		}
	}()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	b := make([]byte, 64)
	if n, err := c.Read(b); err != nil || !strings.Contains(string(b[:n]), "431") {
		t.Errorf("%q %v", b[:n], err)
	}
}

// Whoever imports holds the database for a while. Who asks meanwhile waits, and is told so when it takes too long; nothing hangs.
func TestADatabaseThatIsWrittenToForLongIsUnavailable(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it waits for ten seconds")
	}
	dir := t.TempDir()
	st, err := history.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Add(t.Context(), recordtest.Sample(), history.FromRun); err != nil {
		t.Fatal(err)
	}
	st.Close()
	db, err := sql.Open("sqlite", "file:"+history.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	h := Handler(Options{DataDir: dir})
	begin := time.Now()
	if w := get(h, "/"); w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "wait") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("after %v", took)
	}
	if _, err := c.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if w := get(h, "/"); w.Code != 200 {
		t.Errorf("afterwards: %d %s", w.Code, w.Body)
	}
}

// An imported document may say a ceiling twice; Prometheus refuses a sample that comes twice.
func TestMetricsTellEachCeilingOnce(t *testing.T) {
	d := recordtest.Sample()
	d.Ceilings = append(d.Ceilings, d.Ceilings...)
	seen := map[string]bool{}
	for _, line := range strings.Split(prometheus(&d), "\n") {
		name, _, _ := strings.Cut(line, "} ")
		if strings.HasPrefix(line, "ridge_ceiling{") && seen[name] {
			t.Errorf("twice: %s", line)
		}
		seen[name] = true
	}
}

// A run that is killed while it is watched stops being shown, with a torn line at its end too.
func TestARunThatIsKilledIsNotGoingOn(t *testing.T) {
	o := Options{DataDir: t.TempDir()}
	runs := filepath.Join(o.DataDir, "runs")
	if err := os.Mkdir(runs, 0o755); err != nil {
		t.Fatal(err)
	}
	d := recordtest.Sample()
	path := filepath.Join(runs, "now.jsonl")
	j, err := record.Create(path, record.JournalHeader{RunID: "now", Created: d.Created, Command: d.Command, Tool: &d.Tool, Host: &d.Host})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(record.Entry{Kind: record.EntryResult, Result: &d.Results[0]}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `{"crc32c":"01234567","entry":{"kind":"res`)
	f.Close()
	h := Handler(o)
	for _, target := range []string{"/live", "/api/v1/live", "/api/v1/live/document"} {
		if w := get(h, target); w.Code != 200 || !strings.Contains(w.Body.String(), "now") {
			t.Errorf("%s of a run in the middle of a line: %d %.200s", target, w.Code, w.Body)
		}
	}
	j.Close() // a killed process gives the lock back
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{"/live": "No run is going on", "/api/v1/live": `"running": false`, "/api/v1/live/document": "no run is going on"} {
		if w := get(h, target); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s of a run that was killed: %d %.200s", target, w.Code, w.Body)
		}
	}
}
