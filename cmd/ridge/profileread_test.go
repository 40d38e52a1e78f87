package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
)

// Two bytes of text are an empty message, for which the parser takes a hundred times as much.
func TestAProfileOfTooManyThingsIsRefusedBeforeItIsParsed(t *testing.T) {
	of := func(field, content string) []byte {
		return []byte(field + string(rune(len(content))) + content)
	}
	for name, part := range map[string][]byte{
		"samples": of("\x12", ""), "mappings": of("\x1a", ""), "locations": of("\x22", ""), "functions": of("\x2a", ""), "strings": of("\x32", ""), "comments": of("\x6a", "\x01\x01\x01\x01"),
		"labels": of("\x12", "\x1a\x00\x1a\x00\x1a\x00"), "lines": of("\x22", "\x22\x00\x22\x00\x22\x00"), "packed locations": of("\x12", "\x0a\x7d"+strings.Repeat("\x01", 125)),
	} {
		if testing.Short() && name != "labels" {
			continue // each packs 64 MB
		}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		text := bytes.Repeat(part, (maxUnpacked-100)/len(part))
		if _, err := z.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "many.pb.gz")
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := ridge(t, "profile", "--diff", file, file)
		if code != exitUsage || len(lines(stderr)) != 1 || !strings.Contains(stderr, "more samples, locations and labels") || !strings.Contains(stderr, file) {
			t.Errorf("%s: exit code %d: %.300s", name, code, stderr)
		}
	}
}

func TestTheSizeInMemoryIsEstimatedOfWhatTheParserReads(t *testing.T) {
	f := &pprof.Function{ID: 1, Name: "f"}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f, Line: 3}}}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "time", Unit: "ns"}}, Function: []*pprof.Function{f}, Location: []*pprof.Location{l}}
	for range 1000 {
		p.Sample = append(p.Sample, &pprof.Sample{Location: []*pprof.Location{l, l}, Value: []int64{7}, Label: map[string][]string{"case": {"x"}}})
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	whole := inMemory(b.Bytes())
	if least, most := 1000*(costMessage+costLabel), 1000*(costMessage+costLabel+4*costNumber)+1e4; whole < least || float64(whole) > float64(most) {
		t.Errorf("%d bytes, expected %d to %v", whole, least, most)
	}
	for _, broken := range [][]byte{nil, {0x80}, {0x12}, {0x12, 0x7f}, {0x13}, {0x09, 1}, b.Bytes()[:b.Len()-1]} {
		if got := inMemory(broken); got > whole {
			t.Errorf("%d bytes of a broken profile: %d", len(broken), got)
		}
	}
}
