//go:build cgo && linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"ridge/goharness/record"
)

// A contender is a process that answers one JSON line for each JSON line: requests on
// descriptor 3, replies on descriptor 4, because vendor libraries print to stdout.

// Verbs of a request.
const (
	verbHello   = "hello"   // who are you
	verbPrepare = "prepare" // make the case ready, check its outputs, estimate its time
	verbMeasure = "measure" // take samples of it
	verbRelease = "release" // give its memory back
	verbClock   = "clock"   // measure the core clock

	verbTogether = "together" // arithmetic on all threads at once beside one alone
)

// request asks a contender. Op, Params and DType are those of goharness/op.
type request struct {
	Verb    string            `json:"verb"`
	Op      string            `json:"op,omitempty"`
	Params  map[string]string `json:"params,omitempty"`
	DType   record.DType      `json:"dtype,omitempty"`
	Variant string            `json:"variant,omitempty"` // how the contender is to be used: a kernel's name, "packed", ...

	// LimitNS ends the preparation of a peer whose first launch takes longer: it is no contender.
	LimitNS float64 `json:"limit_ns,omitempty"`

	Launches int `json:"launches,omitempty"` // in one sample
	Samples  int `json:"samples,omitempty"`
}

// reply of a contender.
type reply struct {
	Error string `json:"error,omitempty"`
	// Unsupported: the error says that the contender has nothing for this case.
	Unsupported bool `json:"unsupported,omitempty"`

	Version  string    `json:"version,omitempty"`
	Kernel   string    `json:"kernel,omitempty"`  // kernel or code path
	Checked  string    `json:"checked,omitempty"` // how its outputs were checked; empty is a refusal
	Lesser   string    `json:"lesser,omitempty"`  // why it is no match for the others: shown, never the best peer
	LaunchNS float64   `json:"launch_ns,omitempty"`
	NS       []float64 `json:"ns,omitempty"` // per launch, one for each sample

	// WaitedNS is how long the contender's threads were ready to run and did not, all together.
	WaitedNS float64 `json:"waited_ns,omitempty"`

	IdleGHz   float64 `json:"idle_ghz,omitempty"`
	LoadedGHz float64 `json:"loaded_ghz,omitempty"`

	// Together is how much longer arithmetic took on all threads at once than on one.
	Together float64 `json:"together,omitempty"`
}

// contender is the measured side of one library.
type contender interface {
	// Ask sends a request and waits for the reply, at most until ctx ends; after an error the
	// contender is of no use any more.
	Ask(ctx context.Context, q request) (reply, error)
	Close()
}

// serve answers requests until the other side closes.
func serve(r io.Reader, w io.Writer, answer func(request) reply) error {
	in, out := json.NewDecoder(bufio.NewReader(r)), json.NewEncoder(w)
	for {
		var q request
		if err := in.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if err := out.Encode(answer(q)); err != nil {
			return fmt.Errorf("write a reply: %w", err)
		}
	}
}

// process is a contender in a process of its own.
type process struct {
	cmd *exec.Cmd
	out io.WriteCloser
	in  io.ReadCloser
	dec *json.Decoder
}

// start runs a contender's command with extra environment variables.
func start(argv, env []string) (*process, error) {
	toR, toW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromR, fromW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.ExtraFiles = []*os.File{toR, fromW}
	err = cmd.Start()
	_ = toR.Close()
	_ = fromW.Close()
	if err != nil {
		_ = toW.Close()
		_ = fromR.Close()
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	return &process{cmd: cmd, out: toW, in: fromR, dec: json.NewDecoder(bufio.NewReader(fromR))}, nil
}

// Ask implements contender. A contender that does not answer in time is killed.
func (p *process) Ask(ctx context.Context, q request) (reply, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	if err := json.NewEncoder(p.out).Encode(q); err != nil {
		return reply{}, fmt.Errorf("ask the contender to %s: %w", q.Verb, p.reason(ctx, err))
	}
	var r reply
	if err := p.dec.Decode(&r); err != nil {
		return reply{}, fmt.Errorf("no answer to %s: %w", q.Verb, p.reason(ctx, err))
	}
	return r, nil
}

// reason tells why a contender no longer answers.
func (p *process) reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("it took too long and was killed")
	}
	_ = p.in.Close()
	_ = p.out.Close()
	if werr := p.cmd.Wait(); werr != nil {
		return fmt.Errorf("the process ended: %w", werr)
	}
	return err
}

// Close ends the process: it leaves when its requests end, or is killed after two seconds.
func (p *process) Close() {
	_ = p.out.Close()
	t := time.AfterFunc(2*time.Second, func() { _ = p.cmd.Process.Kill() })
	_ = p.cmd.Wait()
	t.Stop()
	_ = p.in.Close()
}
