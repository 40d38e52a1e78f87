package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
)

// maxDocument bounds a document in bytes.
const maxDocument = 256 << 20

// maxDevices of a document: views look at all its results for each of them.
const maxDevices = 256

// ReadCalibration reads and validates a calibration document. The error is one line that
// names the field and what was expected; the caller adds the file's name.
func ReadCalibration(r io.Reader) (Calibration, error) {
	data, err := readAll(r, "document")
	if err != nil {
		return Calibration{}, err
	}
	if doc, ok := quickCalibration(data); ok {
		return doc, checkCalibration(&doc)
	}
	text, err := skim(data, "schema")
	if err != nil {
		return Calibration{}, err
	}
	return decodeCalibration(data, text)
}

// readAll reads a document's text, into one allocation where the length of a file is known.
func readAll(r io.Reader, what string) ([]byte, error) {
	var data []byte
	if f, ok := r.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() && st.Size() <= maxDocument {
			data = make([]byte, st.Size()) // not by bytes.Buffer, which clears what it is about to fill: half of the time that reading takes
			n, err := io.ReadFull(f, data)
			if data = data[:n]; err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("reading the %s: %w", what, err)
			}
		}
	}
	rest, err := io.ReadAll(io.LimitReader(r, maxDocument+1-int64(len(data)))) // of a pipe all, of a file what it has grown by
	if err != nil {
		return nil, fmt.Errorf("reading the %s: %w", what, err)
	}
	if data == nil {
		data = rest
	} else {
		data = append(data, rest...)
	}
	if len(data) > maxDocument {
		return nil, fmt.Errorf("the %s is longer than %d bytes", what, maxDocument)
	}
	return data, nil
}

func decodeCalibration(data []byte, text skimmed) (Calibration, error) {
	if err := validate(data, text); err != nil {
		return Calibration{}, err
	}
	var doc Calibration
	if err := doc.UnmarshalJSON(data); err != nil { // by json.Unmarshal the text would be parsed twice before
		return Calibration{}, explainIn(data, err)
	}
	return doc, checkCalibration(&doc)
}

// checkCalibration is what no schema says.
func checkCalibration(doc *Calibration) error {
	if n := len(doc.Devices); n > maxDevices {
		return fmt.Errorf("devices: the list has %d entries, at most %d are allowed", n, maxDevices)
	}
	seen := map[string]int{}
	for i, d := range doc.Devices {
		if at, dup := seen[d.ID]; dup {
			return fmt.Errorf("devices[%d].id: device %q is devices[%d] already", i, clip(d.ID, 200), at)
		}
		seen[d.ID] = i
	}
	seen = map[string]int{}
	for i, r := range doc.Results {
		if at, dup := seen[r.ID]; dup {
			return fmt.Errorf("results[%d].id: case %q is results[%d] already", i, clip(r.ID, 200), at)
		}
		seen[r.ID] = i
	}
	return nil
}

// EncodeCalibration gives the document's text: indented, lists of numbers on one line,
// absent lists as []. It replaces nil slices and maps in doc's own lists by empty ones.
func EncodeCalibration(doc Calibration) ([]byte, error) {
	doc.Schema = SchemaCalibration
	if err := normalize(reflect.ValueOf(&doc), ""); err != nil {
		return nil, fmt.Errorf("writing the document: %w", err)
	}
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the document: %w", err)
	}
	return append(foldNumbers(data), '\n'), nil
}

// EncodeFusion gives a fusion profile's text, as EncodeCalibration does a calibration's.
func EncodeFusion(f Fusion) ([]byte, error) {
	f.Schema = SchemaFusion
	if err := normalize(reflect.ValueOf(&f), ""); err != nil {
		return nil, fmt.Errorf("writing the fusion profile: %w", err)
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the fusion profile: %w", err)
	}
	return append(foldNumbers(data), '\n'), nil
}

// ValidateFusion checks a fusion profile against its schema, with an error as Validate gives it.
func ValidateFusion(data []byte) error {
	s, err := CompileSchema("ridge.fusion-1.schema.json")
	if err != nil {
		return err
	}
	return ValidateAgainst(s, data)
}

// WriteCalibration writes the document's text to w.
func WriteCalibration(w io.Writer, doc Calibration) error {
	data, err := EncodeCalibration(doc)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// foldNumbers puts lists that hold only numbers on one line of indented JSON. A raw
// newline never stands inside a JSON string, so whole lines can be judged.
func foldNumbers(data []byte) []byte {
	lines := bytes.Split(data, []byte("\n"))
	var out bytes.Buffer
	out.Grow(len(data))
	for i := 0; i < len(lines); i++ {
		if i > 0 {
			out.WriteByte('\n')
		}
		out.Write(lines[i])
		if !bytes.HasSuffix(lines[i], []byte("[")) {
			continue
		}
		end := i + 1
		for end < len(lines) && isNumber(lines[end]) {
			end++
		}
		if end == i+1 || end == len(lines) || !bytes.HasPrefix(bytes.TrimSpace(lines[end]), []byte("]")) {
			continue
		}
		for j := i + 1; j < end; j++ {
			if j > i+1 {
				out.WriteByte(' ')
			}
			out.Write(bytes.TrimSpace(lines[j]))
		}
		out.Write(bytes.TrimSpace(lines[end]))
		i = end
	}
	return out.Bytes()
}

func isNumber(line []byte) bool {
	t := bytes.TrimSuffix(bytes.TrimSpace(line), []byte(","))
	return len(t) > 0 && len(bytes.Trim(t, "0123456789+-.eE")) == 0
}

// MergeJournal adds a journal's entries to a document: results replace those of the same
// case id or are appended; ceilings replace those of the same key; a probe is added to its
// ceiling, whose measured value and ratio follow when the probe is better. Call it after
// Summarize: it adds the journal's warnings and end to the summary.
func MergeJournal(doc *Calibration, log *Log) error {
	at := map[string]int{}
	for i, r := range doc.Results {
		at[r.ID] = i
	}
	for _, r := range log.Results() {
		if i, ok := at[r.ID]; ok {
			doc.Results[i] = r
			continue
		}
		at[r.ID] = len(doc.Results)
		doc.Results = append(doc.Results, r)
	}
	ceilings := map[CeilingKey]int{}
	for i := range doc.Ceilings {
		ceilings[doc.Ceilings[i].Key()] = i
	}
	for _, e := range log.Entries {
		switch {
		case e.Ceiling != nil:
			c := *e.Ceiling
			c.Probes = append([]Probe(nil), c.Probes...)
			if i, ok := ceilings[c.Key()]; ok {
				doc.Ceilings[i] = c
				continue
			}
			ceilings[c.Key()] = len(doc.Ceilings)
			doc.Ceilings = append(doc.Ceilings, c)
		case e.Probe != nil:
			i, ok := ceilings[e.Probe.Ceiling]
			if !ok {
				return fmt.Errorf("merging the journal: a probe at %s of a ceiling that was not journaled: %+v", e.Probe.Probe.Time, e.Probe.Ceiling)
			}
			doc.Ceilings[i].addProbe(e.Probe.Probe)
		}
	}
	for _, w := range log.Warnings {
		doc.Summary.Warnings = append(doc.Summary.Warnings, "journal: "+w)
	}
	if end := log.End(); end != nil {
		doc.Summary.Complete, doc.Summary.WallSeconds = end.Complete, end.WallSeconds
	}
	return nil
}

func (c *Ceiling) addProbe(p Probe) {
	for _, have := range c.Probes {
		if have.Time == p.Time && have.Case == p.Case {
			return
		}
	}
	c.Probes = append(c.Probes, p)
	lower := c.Kind == CeilingLatency || c.Kind == CeilingLaunch
	better := p.Value > c.Measured.Value
	if lower {
		better = p.Value < c.Measured.Value
	}
	if c.Measured.Unavailable == "" && c.Measured.Value != 0 && !better {
		return
	}
	c.Measured = Measured{Value: p.Value, CaseID: p.Case}
	switch {
	case c.Theoretical.Unavailable != "" || c.Theoretical.Value == 0 || p.Value == 0:
	case lower:
		c.Ratio = c.Theoretical.Value / p.Value
	default:
		c.Ratio = p.Value / c.Theoretical.Value
	}
}
