//go:build unix

package profile

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// browser is a running go tool pprof -http.
type browser struct {
	at   string        // its address; empty until it has said it
	said string        // all that it wrote
	gone chan struct{} // closed when it ended
	mu   sync.Mutex
}

// serve starts pprof on a port that it chooses itself and that it names before it listens there: another program may have
// taken the port meanwhile, and the first connection may come too early.
func serve(t *testing.T, file string) *browser {
	t.Helper()
	cmd := exec.Command("go", "tool", "pprof", "-no_browser", "-http=127.0.0.1:", file)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go starts pprof as its child
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := &browser{gone: make(chan struct{})}
	go func() {
		defer close(b.gone)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			b.mu.Lock()
			b.said += sc.Text() + "\n"
			if _, at, ok := strings.Cut(sc.Text(), "Serving web UI on "); ok {
				b.at = strings.TrimSpace(at)
			}
			b.mu.Unlock()
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-b.gone
	})
	return b
}

// answers waits until the server answers; false when it could not have its port.
func (b *browser) answers(t *testing.T, c *http.Client) bool {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // the tool may have to be built
		b.mu.Lock()
		at, said := b.at, b.said
		b.mu.Unlock()
		select {
		case <-b.gone:
			if strings.Contains(said, "address already in use") {
				return false
			}
			t.Fatalf("go tool pprof -http ended: %s", said)
		default:
		}
		if at == "" {
			continue
		}
		if r, err := c.Get(at + "/ui/top"); err == nil {
			r.Body.Close()
			return true
		}
	}
	t.Fatal("go tool pprof -http serves nothing")
	return false
}

// The pages of go tool pprof -http: the flame graph, the list by function, who calls whom, and the source. Any address that it does
// not know leads to the flame graph, so that the page which answers counts too.
func TestGoToolPprofShowsItInABrowser(t *testing.T) {
	file := written(t, build(t, document()))
	c := &http.Client{Timeout: time.Minute}
	defer c.CloseIdleConnections()
	b := serve(t, file)
	for try := 0; !b.answers(t, c); try++ {
		if try == 5 {
			t.Fatal("the port was taken five times")
		}
		b = serve(t, file)
	}
	for page, want := range map[string]string{"/flamegraph": "gemm_fp32_avx2_6x16", "/flamegraph?si=energy": "Type: energy", "/top": "gemm_fp32_avx2_6x16 compute",
		"/peek?f=gemm_fp32_avx2_6x16": "gemm_fp32_avx2_6x16 compute", "/source?f=gemm_fp32_avx2_6x16": "#define GEMM_TARGET"} {
		r, err := c.Get(b.at + "/ui" + page)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
		r.Body.Close()
		path, _, _ := strings.Cut(page, "?")
		if err != nil || r.StatusCode != http.StatusOK || r.Request.URL.Path != "/ui"+path || !strings.Contains(string(text), want) {
			t.Errorf("%s: status %d, %d bytes without %q (%v)", page, r.StatusCode, len(text), want, err)
		}
	}
}
