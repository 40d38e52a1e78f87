// Package serve shows the history over HTTP: pages, the documents as JSON, the progress of a run that is
// going on, and the last run's figures for Prometheus. It only reads.
package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ridge/goharness/history"
	"ridge/goharness/history/compare"
	"ridge/goharness/record"
)

// Options of a server.
type Options struct {
	DataDir string
	// Remote: the address is not loopback. Token must be set then, and every request must carry it.
	Remote bool
	Token  string
}

// LeastToken is the least length of a token.
const LeastToken = 16

// mostURI bounds a request's path and query.
const mostURI = 4096

// Server with its limits of time and size. Serve it on a Listener.
func Server(o Options) *http.Server {
	return &http.Server{Handler: Handler(o), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 15 * time.Second, MaxHeaderBytes: 16 << 10}
}

// Loopback reports whether an address to listen on is reached from this machine alone.
func Loopback(address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return false, fmt.Errorf("address %q: expected HOST:PORT, such as 127.0.0.1:8470", address)
	}
	return local(host), nil
}

func local(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

type server struct {
	o     Options
	slots chan struct{} // one for each answer that is being made
	held  atomic.Int64  // bytes of answers that are being sent
}

const (
	// mostAtOnce bounds the answers that are made at the same time: one may hold a document of 100 MB.
	mostAtOnce = 2
	// mostHeld bounds the bytes of answers that clients have not read yet. A single answer may be larger.
	mostHeld = 256 << 20
)

// make an answer when there is a slot for it.
func (s *server) make(h func(r *http.Request) (answer, error), r *http.Request) (answer, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
		return h(r)
	case <-r.Context().Done():
		return answer{}, r.Context().Err()
	}
}

// errBusy is told to who asks while others do not read what they asked for.
var errBusy = errors.New("too much of what was asked for is not read yet: try again in a minute")

// answer a request: what is made stays in memory until the client has read it.
func (s *server) answer(w http.ResponseWriter, r *http.Request, h func(r *http.Request) (answer, error)) {
	if s.held.Load() > mostHeld {
		fail(w, errBusy)
		return
	}
	a, err := s.make(h, r)
	if err != nil {
		fail(w, err)
		return
	}
	size := int64(len(a.data))
	if before := s.held.Add(size) - size; before > 0 && before+size > mostHeld {
		s.held.Add(-size)
		fail(w, errBusy)
		return
	}
	defer s.held.Add(-size)
	w.Header().Set("Content-Type", a.kind)
	_, _ = w.Write(a.data) // a reader that left is no fault
}

// Handler answers requests.
func Handler(o Options) http.Handler {
	return newServer(o).handler()
}

func newServer(o Options) *server { return &server{o: o, slots: make(chan struct{}, mostAtOnce)} }

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]func(r *http.Request) (answer, error){
		"GET /{$}": s.runs, "GET /run/{id}": s.run, "GET /trend": s.trend, "GET /trend.svg": s.trendPlot, "GET /cases": s.cases, "GET /live": s.live,
		"GET /api/v1/runs": s.apiRuns, "GET /api/v1/runs/{id}": s.apiRun, "GET /api/v1/trend": s.apiTrend, "GET /api/v1/live": s.apiLive, "GET /api/v1/live/document": s.apiLiveDocument,
		"GET /metrics": s.metrics,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, h) })
	}
	return s.guard(mux)
}

// guard checks what holds for every request.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		// A report carries its own script and nothing from elsewhere.
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src 'self' data:; font-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "this server only reads: GET or HEAD", http.StatusMethodNotAllowed)
		case len(r.RequestURI) > mostURI:
			http.Error(w, "the request is too long", http.StatusRequestURITooLong)
		case strings.ContainsRune(r.URL.Path, 0) || strings.Contains(r.URL.Path, "..") || strings.Contains(r.URL.Path, `\`):
			http.Error(w, "no such page", http.StatusBadRequest)
		case !s.o.Remote && !local(hostOf(r.Host)):
			// A page of another site that made its name point here (DNS rebinding) has that name in Host.
			http.Error(w, "this server answers to localhost only", http.StatusForbidden)
		case s.o.Remote && !s.authorized(r):
			h.Set("WWW-Authenticate", `Basic realm="ridge", charset="UTF-8"`)
			http.Error(w, "the token is missing or wrong: Authorization: Bearer TOKEN, or the token as password", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}

func (s *server) authorized(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, given, _ = r.BasicAuth()
	}
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.o.Token)) // of one length, which tells nothing of the token's
	return len(s.o.Token) >= LeastToken && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// notFound is what the history does not have.
type notFound struct{ error }

func fail(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	var none *history.NoRunError
	var missing notFound
	var bad badRequest
	switch {
	case errors.As(err, &none), errors.As(err, &missing), errors.Is(err, history.ErrNone):
		code = http.StatusNotFound
	case errors.As(err, &bad):
		code = http.StatusBadRequest
	case errors.Is(err, errBusy), errors.Is(err, history.ErrBusy):
		code = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "60")
	}
	http.Error(w, err.Error(), code)
}

type badRequest struct{ error }

// open the history as it is now: it may have been made after the server started.
func (s *server) open(r *http.Request) (*history.Store, error) {
	return history.OpenReadOnly(r.Context(), s.o.DataDir)
}

func writeJSON(v any) (answer, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return answer{}, err
	}
	return send("application/json", append(data, '\n'))
}

// answer to a request: a whole page, so that a client that reads slowly holds nothing but it.
type answer struct {
	kind string
	data []byte
}

func send(kind string, data []byte) (answer, error) { return answer{kind, data}, nil }

// mostRuns are in a list.
const mostRuns = 500

// list of the newest runs; none where there is no history.
func (s *server) list(r *http.Request) ([]history.Run, error) {
	st, err := s.open(r)
	if errors.Is(err, history.ErrNone) {
		return []history.Run{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return st.List(r.Context(), history.Filter{Host: r.URL.Query().Get("host"), Kind: r.URL.Query().Get("kind"), Limit: mostRuns})
}

func (s *server) apiRuns(r *http.Request) (answer, error) {
	runs, err := s.list(r)
	if err != nil {
		return answer{}, err
	}
	return writeJSON(runs)
}

func (s *server) apiRun(r *http.Request) (answer, error) {
	st, err := s.open(r)
	if err != nil {
		return answer{}, err
	}
	defer st.Close()
	text, err := st.Text(r.Context(), r.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	return send("application/json", text)
}

func (s *server) trendOf(r *http.Request) (history.Trend, error) {
	q := r.URL.Query()
	m := compare.Metric(q.Get("metric"))
	if m == "" {
		m = compare.Time
	}
	if !slices.Contains(history.TrendMetrics, m) {
		return history.Trend{}, badRequest{fmt.Errorf("metric %q: expected time, gflops, gbps or joules", m)}
	}
	if q.Get("case") == "" {
		return history.Trend{}, badRequest{errors.New("case: expected the id of a case")}
	}
	st, err := s.open(r)
	if err != nil {
		return history.Trend{}, err
	}
	defer st.Close()
	t, err := st.TrendOf(r.Context(), q.Get("case"), q.Get("host"), m)
	if err == nil && len(t.Points) == 0 {
		err = notFound{fmt.Errorf("no stored run of that machine has the case %q", q.Get("case"))}
	}
	return t, err
}

func (s *server) apiTrend(r *http.Request) (answer, error) {
	t, err := s.trendOf(r)
	if err != nil {
		return answer{}, err
	}
	return writeJSON(t)
}

func (s *server) apiLive(_ *http.Request) (answer, error) {
	l, ok, err := history.Running(s.o.DataDir)
	if err != nil {
		return answer{}, err
	}
	if !ok {
		return writeJSON(map[string]any{"running": false})
	}
	return writeJSON(struct {
		Running bool `json:"running"`
		history.Live
	}{true, l})
}

func (s *server) apiLiveDocument(_ *http.Request) (answer, error) {
	l, ok, err := history.Running(s.o.DataDir)
	if err != nil {
		return answer{}, err
	}
	if !ok {
		return answer{}, notFound{errors.New("no run is going on")}
	}
	data, err := record.EncodeCalibration(l.Document)
	if err != nil {
		return answer{}, err
	}
	return send("application/json", data)
}
