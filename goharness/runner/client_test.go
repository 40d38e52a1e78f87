package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"ridge/goharness/record"
)

func TestTheAnswerWithAMillionTrialsIsRead(t *testing.T) {
	samples, disturbed := make([]float64, 1e6), make([]int, 1e6)
	for i := range samples {
		samples[i] = 123456.789 + float64(i)/3
		disturbed[i] = i
	}
	line, err := json.Marshal(Reply{Measured: &Measured{Times: []record.Time{{SamplesNS: samples, Disturbed: disturbed}}}})
	if err != nil || len(line) < 17<<20 {
		t.Fatalf("a line of %d bytes, err %v", len(line), err)
	}
	in, out := io.Pipe()
	go func() { _, _ = out.Write(append(line, '\n')) }()
	got, err := readLine(bufio.NewReaderSize(in, 64<<10))
	if err != nil || len(got) != len(line)+1 {
		t.Errorf("read %d of %d bytes: %v", len(got), len(line)+1, err)
	}
}

// A process that was stopped (Ctrl-Z), or whose machine was, finds its deadline over and the answer there: the worker did its part.
func TestAnAnswerThatIsThereCountsThoughTheDeadlineIsOver(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	over, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	for range 64 { // of two that are ready select takes either
		p := &process{req: w, replies: make(chan lineOrErr, 1)}
		p.replies <- lineOrErr{line: []byte(`{"measured":{"times":[]}}` + "\n")}
		if got, err := p.Do(over, Request{Verb: VerbMeasure}); err != nil || got.Measured == nil {
			t.Fatalf("%+v, %v", got, err)
		}
	}
}

// A tool that does not end goes with what it has started.
func TestAToolThatStaysIsKilledWithItsWorker(t *testing.T) {
	w, err := startProcess([]string{"sh", "-c", "sleep 300 & echo $! >&4; wait"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.ends = 200 * time.Millisecond
	said := <-w.replies
	child, err := strconv.Atoi(strings.TrimSpace(string(said.line)))
	if err != nil {
		w.kill()
		t.Fatalf("%q: %v", said.line, said.err)
	}
	w.kill()
	for range 100 { // whoever adopted it has to see its end
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d, which the tool started, is still there", child)
}
