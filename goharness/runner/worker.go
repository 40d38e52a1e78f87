package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// Worker file descriptors: requests come on 3, replies go out on 4.
const (
	requestFD = 3
	replyFD   = 4
)

// maxLine bounds one protocol line. The longest is the answer to a measurement: 10⁶ trials
// give a comparison five million numbers (two samples of each arm and a ratio each) of about
// 20 bytes and the indices of disturbed ones.
const maxLine = 256 << 20

var errNotStartedByRidge = errors.New("worker: expected pipes on descriptors 3 and 4: this command is started by ridge itself")

// ServeProcess serves requests on the worker's descriptors until the parent closes them. A
// closed request pipe ends the process at once, even inside a hanging kernel, so that a
// killed parent leaves no worker behind.
func ServeProcess(s *Server) error {
	in, out := os.NewFile(requestFD, "requests"), os.NewFile(replyFD, "replies")
	if in == nil || out == nil {
		return errNotStartedByRidge
	}
	for _, f := range []*os.File{in, out} {
		if st, err := f.Stat(); err != nil || st.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
			return errNotStartedByRidge
		}
	}
	return Serve(context.Background(), s, in, out, func() { os.Exit(1) })
}

// Serve answers requests from in until it ends. gone is called when in ends while a request
// is being handled.
func Serve(ctx context.Context, s *Server, in io.Reader, out io.Writer, gone func()) error {
	defer s.Close()
	requests := make(chan Request)
	readErr := make(chan error, 1)
	var inFlight atomic.Bool
	go func() {
		defer close(requests)
		sc := bufio.NewScanner(in)
		sc.Buffer(make([]byte, 64<<10), maxLine)
		for sc.Scan() {
			var q Request
			if err := json.Unmarshal(sc.Bytes(), &q); err != nil {
				readErr <- fmt.Errorf("worker: request is not a JSON line: %w", err)
				return
			}
			inFlight.Store(true)
			requests <- q
		}
		readErr <- sc.Err()
		if inFlight.Load() {
			gone()
		}
	}()
	enc := json.NewEncoder(out)
	for q := range requests {
		r := s.Handle(ctx, q)
		inFlight.Store(false)
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("worker: write reply: %w", err)
		}
	}
	return <-readErr
}
