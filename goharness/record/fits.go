package record

import (
	"bytes"
	"io"
	"strconv"
)

// fits reports whether a text is JSON, follows a shape and stays within the limits of skim, and gives what it found on its way. No is no
// verdict: fields given twice, in another case or with escapes, nulls and numbers like 1e3 are left to the library too.
func fits(data []byte, s *shape) (f fitter, ok bool) {
	f.data = data
	end, ok := f.value(f.space(0), s, 0)
	return f, ok && f.space(end) == len(data)
}

// cut is a piece of a text that is passed over.
type cut struct{ from, to int }

// pieces reads a text but for its cuts.
type pieces struct {
	data []byte
	cuts []cut
	at   int
}

func (p *pieces) Read(to []byte) (n int, err error) {
	for n < len(to) {
		end := len(p.data)
		if len(p.cuts) > 0 {
			end = p.cuts[0].from
		}
		k := copy(to[n:], p.data[p.at:end])
		n, p.at = n+k, p.at+k
		switch {
		case p.at < end:
		case len(p.cuts) > 0:
			p.at, p.cuts = p.cuts[0].to, p.cuts[1:]
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
	return n, nil
}

type fitter struct {
	data            []byte
	values, numbers int
	leaving         int // fields that are left out and that the value at hand is in

	cuts    []cut       // the fields that the shape leaves out, and the items of the lists that it puts aside
	aside   [][]float64 // those lists, in order
	arena   []float64   // of which aside has the front
	counted int         // items of the list that the shape counts
}

// leaveOut cuts a field; cuts of fields in it are of no more use.
func (f *fitter) leaveOut(from, to int) {
	for len(f.cuts) > 0 && f.cuts[len(f.cuts)-1].from >= from {
		f.cuts = f.cuts[:len(f.cuts)-1]
	}
	if n := len(f.cuts); n > 0 && f.cuts[n-1].to == from {
		f.cuts[n-1].to = to
		return
	}
	f.cuts = append(f.cuts, cut{from, to})
}

// numeric are the characters of numbers.
var numeric = [256]bool{'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true, '8': true, '9': true, '-': true, '.': true, 'e': true, 'E': true, '+': true}

// longNumber bounds the digits of a number that no decoder judges: it is within the range of a float64.
const longNumber = 300

func (f *fitter) space(i int) int {
	for i < len(f.data) && (f.data[i] == ' ' || f.data[i] == '\n' || f.data[i] == '\r' || f.data[i] == '\t') {
		i++
	}
	return i
}

// value judges the value that begins at i and says where it ends.
func (f *fitter) value(i int, s *shape, depth int) (end int, ok bool) {
	if f.values++; i >= len(f.data) || f.values > maxValues {
		return 0, false
	}
	switch c := f.data[i]; {
	case c == '"':
		end, plain := f.quoted(i)
		if end == 0 || s == nil {
			return end, end > 0
		}
		return end, s.kinds&kindString != 0 && (s.enum == nil || plain && s.enum[string(f.data[i+1:end-1])])
	case c == '{':
		return f.object(i, s, depth+1)
	case c == '[':
		return f.array(i, s, depth+1)
	case c == '-', c >= '0' && c <= '9':
		end, class := f.number(i)
		if s == nil || end == 0 {
			return end, end > 0 && class < 3 && end-i <= longNumber
		}
		return end, s.enum == nil && (s.kinds&kindNumber != 0 || s.kinds&kindInteger != 0 && class < 2) && (f.leaving == 0 || inRange(f.data[i:end], class, s))
	case c == 't':
		return f.word(i, "true", s)
	case c == 'f':
		return f.word(i, "false", s)
	case c == 'n' && s == nil:
		return f.word(i, "null", nil)
	}
	return 0, false
}

// inRange: the type of a field that is left out, and so not decoded, could hold a number.
func inRange(number []byte, class uint8, s *shape) bool {
	const short = 18 // digits that any int64 and float64 can hold
	if class < 3 && len(number) <= short && !s.unsigned {
		return true
	}
	var err error
	switch {
	case s.unsigned:
		_, err = strconv.ParseUint(string(number), 10, 64)
	case s.kinds&kindNumber != 0:
		_, err = strconv.ParseFloat(string(number), 64)
	default:
		_, err = strconv.ParseInt(string(number), 10, 64)
	}
	return err == nil
}

func (f *fitter) word(i int, want string, s *shape) (end int, ok bool) {
	end = i + len(want)
	return end, end <= len(f.data) && string(f.data[i:end]) == want && (s == nil || s.kinds&kindBoolean != 0 && s.enum == nil)
}

// quoted passes over the string at i, end 0: it is none; plain: without escapes.
func (f *fitter) quoted(i int) (end int, plain bool) {
	plain = true
	for j := i + 1; j < len(f.data); j++ {
		switch c := f.data[j]; {
		case c == '"':
			if j-i > maxText {
				return 0, false
			}
			return j + 1, plain
		case c < ' ':
			return 0, false
		case c == '\\':
			plain = false
			if j++; j == len(f.data) {
				return 0, false
			}
			switch f.data[j] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if j+4 >= len(f.data) {
					return 0, false
				}
				for _, h := range f.data[j+1 : j+5] {
					if (h < '0' || h > '9') && (h|0x20 < 'a' || h|0x20 > 'f') {
						return 0, false
					}
				}
			default:
				return 0, false
			}
		}
	}
	return 0, false
}

// number passes over the number at i, end 0: it is none; and says of what class its characters are.
func (f *fitter) number(i int) (end int, class uint8) {
	begin := i
	if f.data[i] == '-' {
		i++
	}
	whole := i
	if i = f.digits(i); i == whole || f.data[whole] == '0' && i > whole+1 {
		return 0, 0
	}
	class = 1
	if i < len(f.data) && f.data[i] == '.' {
		class = 2
		part := i + 1
		if i = f.digits(part); i == part {
			return 0, 0
		}
	}
	if i < len(f.data) && f.data[i]|0x20 == 'e' {
		class = 3
		if i++; i < len(f.data) && (f.data[i] == '+' || f.data[i] == '-') {
			i++
		}
		part := i
		if i = f.digits(part); i == part {
			return 0, 0
		}
	}
	if i-begin > maxText {
		return 0, 0
	}
	return i, class
}

func (f *fitter) digits(i int) int {
	for i < len(f.data) && f.data[i] >= '0' && f.data[i] <= '9' {
		i++
	}
	return i
}

func (f *fitter) object(i int, s *shape, depth int) (end int, ok bool) {
	if depth > maxDepth || s != nil && s.kinds&kindObject == 0 {
		return 0, false
	}
	var seen uint64
	kept, comma := 0, 0
	i = f.space(i + 1)
	for first := true; ; first = false {
		if i >= len(f.data) {
			return 0, false
		}
		if f.data[i] == '}' {
			if first {
				f.values++ // as skim counts it
			}
			break
		}
		if !first {
			if f.data[i] != ',' {
				return 0, false
			}
			comma = i
			i = f.space(i + 1)
		}
		if i >= len(f.data) || f.data[i] != '"' {
			return 0, false
		}
		name := i
		after, plain := f.quoted(i)
		if after == 0 || s != nil && !plain {
			return 0, false
		}
		var at *shape
		left := false
		if s != nil {
			name := f.data[i+1 : after-1]
			if n, known := s.names[string(name)]; known {
				if seen&(1<<n) != 0 {
					return 0, false
				}
				seen, at, left = seen|1<<n, s.props[n], s.without&(1<<n) != 0
			} else if at = s.other; len(s.folded) > 0 && (s.folded[string(bytes.ToLower(name))] || !ascii(name)) { // encoding/json reads ſ as s
				return 0, false
			}
		}
		if i = f.space(after); i >= len(f.data) || f.data[i] != ':' {
			return 0, false
		}
		aside := len(f.aside)
		if left {
			f.leaving++
		}
		if i, ok = f.value(f.space(i+1), at, depth); !ok {
			return 0, false
		}
		if left {
			f.leaving--
		}
		end := i
		i = f.space(i)
		if left {
			f.aside, f.counted = f.aside[:aside], 0
		}
		switch {
		case !left:
			kept++
		case kept > 0:
			f.leaveOut(comma, end)
		case i < len(f.data) && f.data[i] == ',': // with the comma, which must not stand first
			f.leaveOut(name, i+1)
		default:
			f.leaveOut(name, end)
		}
	}
	return i + 1, s == nil || seen&s.required == s.required && s.one(seen)
}

func ascii(text []byte) bool {
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// one reports whether exactly one of the sets is there, where there are any.
func (s *shape) one(seen uint64) bool {
	n := 0
	for _, set := range s.oneOf {
		if seen&set == set {
			n++
		}
	}
	return len(s.oneOf) == 0 || n == 1
}

func (f *fitter) array(i int, s *shape, depth int) (end int, ok bool) {
	if depth > maxDepth || s != nil && s.kinds&kindArray == 0 {
		return 0, false
	}
	var item *shape
	if s != nil {
		if item = s.item; s.aside {
			return f.list(i, s)
		}
	}
	before, n, others := f.values, 0, 0
	i = f.space(i + 1)
	for ; ; n++ {
		if i >= len(f.data) {
			return 0, false
		}
		if f.data[i] == ']' {
			if n == 0 {
				f.values++ // as skim counts it
			}
			break
		}
		if n > 0 {
			if f.data[i] != ',' {
				return 0, false
			}
			i = f.space(i + 1)
		}
		if i < len(f.data) && !numeric[f.data[i]] {
			if others++; others > maxEntries {
				return 0, false
			}
		}
		if i, ok = f.value(i, item, depth); !ok {
			return 0, false
		}
		i = f.space(i)
	}
	if others == 0 && n > keptNumbers { // counted as samples are
		f.values = before
		if f.numbers += n; f.numbers > maxNumbers {
			return 0, false
		}
	}
	if s != nil && s.count {
		f.counted = n
	}
	return i + 1, s == nil || n >= s.min && (s.max == 0 || n <= s.max)
}
