package main

import (
	"bytes"
	"compress/gzip"
	"context"
	varint "encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	pprof "github.com/google/pprof/profile"

	"ridge/goharness/record"
)

const (
	// maxProfile bounds what is read of a file: a document may be as large.
	maxProfile = 256 << 20
	// maxUnpacked bounds the text of a profile. Those of ridge have some kilobytes.
	maxUnpacked = 64 << 20
	// maxInMemory bounds the estimate of what a parsed profile takes: two bytes of its text can stand for hundreds in memory.
	maxInMemory = 256 << 20
)

var errTooMany = errors.New("it holds more samples, locations and labels than fit into 256 MiB of memory: expected a smaller profile, of a shorter time or a lower rate")

// readProfile reads a profile, or makes that of a calibration document.
func readProfile(ctx context.Context, name string) (*pprof.Profile, error) {
	f, err := openInput(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("--diff: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxProfile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--diff: read %s: %w", name, err)
	case len(b) > maxProfile:
		return nil, fmt.Errorf("--diff: %s is larger than %d bytes: expected a profile", name, maxProfile)
	case strings.HasPrefix(strings.TrimSpace(string(b[:min(64, len(b))])), "{"):
		d, err := record.ReadDocument(bytes.NewReader(b)) // a pipe can be read once
		if err != nil {
			return nil, fmt.Errorf("--diff: %s: %w", name, err)
		}
		doc, err := calibrationOf(name, d)
		if err != nil {
			return nil, err
		}
		p, err := profileOf(doc)
		if err != nil {
			return nil, fmt.Errorf("--diff: %s: %w", name, err)
		}
		return p, nil
	}
	p, err := parseProfile(b)
	if err != nil {
		return nil, fmt.Errorf("--diff: %s is neither a profile nor a calibration document: %w", name, err)
	}
	return p, nil
}

// parseProfile reads pprof's format. What it unpacks to is bounded, and what that takes in memory.
func parseProfile(b []byte) (*pprof.Profile, error) {
	if len(b) > 2 && b[0] == 0x1f && b[1] == 0x8b {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		if b, err = io.ReadAll(io.LimitReader(z, maxUnpacked+1)); err != nil {
			return nil, err
		}
		if len(b) > maxUnpacked {
			return nil, fmt.Errorf("it unpacks to more than %d bytes", maxUnpacked)
		}
	}
	if len(b) > maxUnpacked {
		return nil, fmt.Errorf("it has more than %d bytes", maxUnpacked)
	}
	if inMemory(b) > maxInMemory {
		return nil, errTooMany
	}
	p, err := pprof.ParseUncompressed(b)
	if err != nil {
		return nil, err
	}
	return p, p.CheckValid()
}

// Fields of profile.proto.
const (
	fieldSample   = 2
	fieldLocation = 4
	fieldString   = 6
	fieldComment  = 13

	fieldSampleLocations = 1
	fieldSampleValues    = 2
	fieldSampleLabel     = 3
	fieldLocationLine    = 4
)

// What the parser takes for each, in bytes, with the growth of its lists. A label has maps of its own.
const (
	costMessage = 256
	costLabel   = 1024
	costLine    = 128
	costString  = 48
	costNumber  = 24
)

// inMemory estimates what the parser would take for a profile, without taking it. It ends where the text is broken, as
// the parser does, and where the estimate is above maxInMemory.
func inMemory(b []byte) (cost int) {
	fields(b, func(field uint64, text []byte) bool {
		switch field {
		case fieldString:
			cost += costString + len(text)
		case fieldComment:
			cost += costString * (1 + numbers(text))
		default:
			cost += costMessage
			fields(text, func(inner uint64, text []byte) bool {
				switch {
				case field == fieldSample && inner == fieldSampleLabel:
					cost += costLabel
				case field == fieldLocation && inner == fieldLocationLine:
					cost += costLine
				case field == fieldSample && (inner == fieldSampleLocations || inner == fieldSampleValues):
					cost += costNumber * max(1, numbers(text))
				}
				return cost <= maxInMemory
			})
		}
		return cost <= maxInMemory
	})
	return cost
}

// numbers counts those of a packed list: the last byte of each has no mark that more follow.
func numbers(text []byte) (n int) {
	for _, x := range text {
		if x < 0x80 {
			n++
		}
	}
	return n
}

// fields gives each field of a protobuf message with its text (nil for a number) until each returns false.
func fields(b []byte, each func(field uint64, text []byte) bool) {
	for len(b) > 0 {
		key, n := varint.Uvarint(b)
		if n <= 0 {
			return
		}
		b = b[n:]
		var text []byte
		size := uint64(0)
		switch key & 7 {
		case 0:
			_, n := varint.Uvarint(b)
			if n <= 0 {
				return
			}
			size = uint64(n)
		case 1:
			size = 8
		case 2:
			var n int
			if size, n = varint.Uvarint(b); n <= 0 {
				return
			}
			if b = b[n:]; size <= uint64(len(b)) {
				text = b[:size]
			}
		case 5:
			size = 4
		default:
			return
		}
		if size > uint64(len(b)) {
			return
		}
		b = b[size:]
		if !each(key>>3, text) {
			return
		}
	}
}
