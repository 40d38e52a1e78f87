package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Limits of a text that is worth decoding. A run of 1,000 results nests 8 deep and has a quarter of a million values
// beside its samples.
const (
	maxDepth  = 64
	maxValues = 4_000_000
	// maxNumbers bounds the numbers of long lists of them, samples above all.
	maxNumbers = 6_000_000
	// keptNumbers of a list of numbers stand for all of them when a document is held against its schema.
	keptNumbers = 16
	// maxText bounds a text in bytes.
	maxText = 1 << 20
)

// skimmed is what one pass over a text tells, before anything is allocated for its values.
type skimmed struct {
	// top holds the values of the keys in its own map, at the top level of an object.
	top map[string]json.RawMessage
	// reduced is the text with long lists of numbers cut short.
	reduced []byte
}

// skim passes over a text, which need not be JSON, and refuses what would cost too much to decode.
func skim(data []byte, keys ...string) (skimmed, error) {
	s := skimmed{top: map[string]json.RawMessage{}}
	wanted := map[string]bool{}
	for _, k := range keys {
		wanted[k] = true
	}
	depth, values, numbers, kept := 0, 0, 0, 0
	key, from := "", -1 // the wanted key at the top level whose value begins at from
	settle := func(end int) {
		if from >= 0 {
			s.top[key] = json.RawMessage(bytes.TrimSpace(data[from:end]))
		}
		from = -1
	}
	last := [2]int{} // the last string
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			last = [2]int{i + 1, min(end, len(data))}
			if last[1]-last[0] > maxText {
				return s, fmt.Errorf("a text of more than %d bytes%s", maxText, position(data, int64(i)))
			}
			i = end
		case ':':
			if depth == 1 {
				settle(i)
				if name := string(data[last[0]:min(last[1], last[0]+64)]); wanted[name] {
					key, from = name, i+1
				}
			}
		case ',':
			values++
			if depth == 1 {
				settle(i)
			}
		case '{', '[':
			values++
			if depth++; depth > maxDepth {
				return s, fmt.Errorf("nested more than %d deep%s", maxDepth, position(data, int64(i)))
			}
			if data[i] != '[' {
				break
			}
			if cut, end, n := numbersOf(data, i+1); cut > 0 {
				if numbers += n; numbers > maxNumbers {
					return s, fmt.Errorf("the document has more than %d numbers in its lists%s", maxNumbers, position(data, int64(i)))
				}
				s.reduced = append(s.reduced, data[kept:cut]...)
				kept, i = end, end-1
			}
		case '}', ']':
			if depth == 1 {
				settle(i)
			}
			depth--
		}
		if values > maxValues {
			return s, fmt.Errorf("the document has more than %d values%s", maxValues, position(data, int64(i)))
		}
	}
	if kept == 0 {
		s.reduced = data
	} else {
		s.reduced = append(s.reduced, data[kept:]...)
	}
	return s, nil
}

// numbersOf looks for a list of more than keptNumbers numbers, and nothing else, that begins at from: where to cut it,
// where its bracket closes, and how many it has. Decoding the whole text judges the numbers.
func numbersOf(data []byte, from int) (cut, end, n int) {
	for i := from; i < len(data); i++ {
		switch c := data[i]; {
		case c == ',':
			if n++; n == keptNumbers {
				cut = i
			}
		case c == ']':
			return cut, i, n + 1
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E', c == ' ', c == '\n', c == '\t', c == '\r':
		default:
			return 0, 0, 0
		}
	}
	return 0, 0, 0
}

// position says where in a text a byte is.
func position(data []byte, offset int64) string {
	before := data[:max(0, min(offset, int64(len(data))))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Sprintf(" at byte %d (line %d, column %d)", offset, line, len(before)-bytes.LastIndexByte(before, '\n'))
}

// explainIn is explainJSON with the line and column of a syntax error.
func explainIn(data []byte, err error) error {
	var se *json.SyntaxError
	if !errors.As(err, &se) {
		return explainJSON(err)
	}
	at := se.Offset // bytes that were read
	if at > 0 && at <= int64(len(data)) && !strings.HasPrefix(se.Error(), "unexpected end") {
		at-- // the last of them is the one that was not expected
	}
	return errors.New(oneLine("not JSON: " + se.Error() + position(data, at)))
}
