package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Worker is the parent's side of a worker: a process, or a Server in this process.
type Worker interface {
	// Do sends one request and waits for its reply until ctx ends. A worker that died gives
	// a *CrashError; one that passed ctx's deadline a *TimeoutError. After either the worker
	// is gone and must be closed.
	Do(ctx context.Context, q Request) (Reply, error)
	Close() error
}

// Launcher starts a worker.
type Launcher func(ctx context.Context) (Worker, error)

// CrashError is a worker that died.
type CrashError struct {
	Signal string // "SIGSEGV", or "" when it exited
	Exit   int
	Stderr string // the end of what it wrote there
}

func (e *CrashError) Error() string {
	how := fmt.Sprintf("exited with status %d", e.Exit)
	if e.Signal != "" {
		how = "was ended by " + e.Signal
		if e.Signal == "SIGKILL" {
			how += " (out of memory, or killed by somebody)"
		}
	}
	if e.Stderr != "" {
		return "the worker " + how + ": " + e.Stderr
	}
	return "the worker " + how
}

// TimeoutError is a worker that was killed at its deadline.
type TimeoutError struct {
	Verb  string
	After time.Duration
	// Doing is what its threads did just before, where that can be seen: a kernel that computes for ever, a thread that gets no
	// CPU, and one that waits look different.
	Doing string
}

func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("%s did not end within %v; the worker was killed", e.Verb, e.After.Round(time.Millisecond))
	if e.Doing != "" {
		text += " (" + e.Doing + ")"
	}
	return text
}

// InProcess serves a Server without a process, for tests and library users who accept that
// a crash takes them along.
func InProcess(s *Server) Launcher {
	return func(context.Context) (Worker, error) { return inProcess{s}, nil }
}

type inProcess struct{ s *Server }

func (w inProcess) Do(ctx context.Context, q Request) (Reply, error) {
	started := time.Now()
	r := w.s.Handle(ctx, q)
	if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
		return r, &TimeoutError{Verb: q.Verb, After: time.Since(started)}
	} else if err != nil {
		return r, err // an interruption is not the kernel's failure
	}
	return r, nil
}

func (w inProcess) Close() error { w.s.Close(); return nil }

// Process launches command (usually ridge itself with "worker") with the protocol's pipes.
func Process(command []string, env []string) Launcher {
	return launcher(command, env, 30*time.Second, 0)
}

// Under launches command under a tool that looks on (compute-sanitizer, valgrind, gdb): its words stand before the command's. It takes long to
// start, and before it is killed it has time to write its report of a worker whose requests have ended.
func Under(tool, command, env []string) Launcher {
	return launcher(append(slices.Clone(tool), command...), env, 3*time.Minute, toolEnds)
}

// toolEnds is how long a tool may take for its report.
const toolEnds = 10 * time.Second

func launcher(command, env []string, starts, ends time.Duration) Launcher {
	return func(ctx context.Context) (Worker, error) {
		w, err := startProcess(command, env)
		if err != nil {
			return nil, fmt.Errorf("start worker %s: %w", strings.Join(command, " "), err)
		}
		w.ends = ends
		hello, cancel := context.WithTimeout(ctx, starts)
		defer cancel()
		r, err := w.Do(hello, Request{Verb: VerbHello})
		if err == nil && (r.Hello == nil || r.Hello.Protocol != Protocol) {
			err = fmt.Errorf("worker speaks another protocol (%+v), expected version %d", r.Hello, Protocol)
		}
		if err != nil {
			_ = w.Close()
			return nil, fmt.Errorf("start worker %s: %w", strings.Join(command, " "), err)
		}
		return w, nil
	}
}

type process struct {
	cmd     *exec.Cmd
	req     *os.File
	replies chan lineOrErr
	stderr  *tail
	waited  chan struct{}
	ends    time.Duration // that a tool round it has for its report; 0: there is none
}

type lineOrErr struct {
	line []byte
	err  error
}

func startProcess(command, env []string) (*process, error) {
	reqR, reqW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	repR, repW, err := os.Pipe()
	if err != nil {
		reqR.Close()
		reqW.Close()
		return nil, err
	}
	w := &process{cmd: exec.Command(command[0], command[1:]...), req: reqW, replies: make(chan lineOrErr, 1),
		stderr: &tail{max: 2048}, waited: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), env...)
	w.cmd.ExtraFiles = []*os.File{reqR, repW}
	w.cmd.Stderr = w.stderr
	// A session of its own: the worker gets its own scheduling group (sched_autogroup) and
	// no terminal signals; the parent decides when it ends.
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = w.cmd.Start()
	reqR.Close()
	repW.Close()
	if err != nil {
		reqW.Close()
		repR.Close()
		return nil, err
	}
	go func() {
		rd := bufio.NewReaderSize(repR, 64<<10)
		for {
			line, err := readLine(rd)
			w.replies <- lineOrErr{line, err}
			if err != nil {
				repR.Close()
				return
			}
		}
	}()
	go func() { _ = w.cmd.Wait(); close(w.waited) }()
	return w, nil
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := r.ReadSlice('\n')
		out = append(out, part...)
		if err == nil {
			return out, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if len(out) > maxLine {
			return nil, fmt.Errorf("reply longer than %d bytes", maxLine)
		}
	}
}

// Do sends q and waits. While it waits nothing runs in the parent.
func (w *process) Do(ctx context.Context, q Request) (Reply, error) {
	started := time.Now()
	b, err := json.Marshal(q)
	if err != nil {
		return Reply{}, fmt.Errorf("request %s: %w", q.Verb, err)
	}
	if _, err := w.req.Write(append(b, '\n')); err != nil {
		return Reply{}, w.crash()
	}
	select {
	case got := <-w.replies:
		return w.reply(q, got)
	case <-ctx.Done():
	}
	select {
	case got := <-w.replies: // it came while this process did not run: it was stopped, or its machine
		return w.reply(q, got)
	default:
	}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		w.kill()
		return Reply{}, ctx.Err()
	}
	e := &TimeoutError{Verb: q.Verb, After: time.Since(started), Doing: doing(w.cmd.Process.Pid)}
	w.kill()
	return Reply{}, e
}

// reply decodes what came of the worker for q.
func (w *process) reply(q Request, got lineOrErr) (Reply, error) {
	if errors.Is(got.err, io.EOF) {
		return Reply{}, w.crash()
	}
	if got.err != nil {
		w.kill()
		return Reply{}, fmt.Errorf("reply to %s: %w", q.Verb, got.err)
	}
	var r Reply
	if err := json.Unmarshal(got.line, &r); err != nil {
		w.kill()
		return Reply{}, fmt.Errorf("reply to %s is not a JSON line: %w", q.Verb, err)
	}
	return r, nil
}

// kill ends the worker, hanging or not. A tool round it is asked first, by the end of the requests; then it goes with all that it has started.
func (w *process) kill() {
	if w.ends > 0 {
		_ = w.req.Close()
		select {
		case <-w.waited:
			return
		case <-time.After(w.ends):
			_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL)
		}
	}
	_ = w.cmd.Process.Kill()
	<-w.waited
}

// crash waits for the process's end and says how it died.
func (w *process) crash() error {
	select {
	case <-w.waited:
	case <-time.After(5 * time.Second):
		w.kill()
	}
	e := &CrashError{Exit: w.cmd.ProcessState.ExitCode(), Stderr: w.stderr.last()}
	if ws, ok := w.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = signalName(ws.Signal())
	}
	return e
}

// Close ends the worker: an idle one leaves when its requests end, a hanging one is killed.
func (w *process) Close() error {
	_ = w.req.Close()
	select {
	case <-w.waited:
	case <-time.After(max(3*time.Second, w.ends)):
		w.kill()
	}
	return nil
}

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGSEGV:
		return "SIGSEGV"
	case syscall.SIGILL:
		return "SIGILL"
	case syscall.SIGABRT:
		return "SIGABRT"
	case syscall.SIGBUS:
		return "SIGBUS"
	case syscall.SIGFPE:
		return "SIGFPE"
	case syscall.SIGKILL:
		return "SIGKILL"
	}
	return s.String()
}

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	max int
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > t.max {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-t.max:]...)
	}
	return len(p), nil
}

// last is the last non-empty line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
