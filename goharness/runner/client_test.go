package runner

import (
	"bufio"
	"encoding/json"
	"io"
	"testing"

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
