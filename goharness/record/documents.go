package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Document is one of the kinds of documents that ridge shows: exactly one of Calibration (a
// ridge.calibration/1, or made of a graphs file) and Fusion is set.
type Document struct {
	Name        string // of the file, for messages
	Calibration *Calibration
	Fusion      *Fusion
	text        json.RawMessage // of the fusion profile as it was read
}

// ReadDocument reads a document of any kind, found by what is in it: the field schema, or
// metadata and operation_profiles of a graphs file. The error is one line that names the field
// and what was expected; the caller adds the file's name. Fields of a calibration that the caller has no use for (results.metrics) are
// checked; they need not be in what it gets.
func ReadDocument(r io.Reader, without ...string) (Document, error) {
	data, err := readAll(r, "document")
	if err != nil {
		return Document{}, err
	}
	if c, ok := quickCalibration(data, without...); ok {
		return Document{Calibration: &c}, checkCalibration(&c)
	}
	text, err := skim(data, "schema", "metadata", "operation_profiles")
	if err != nil {
		return Document{}, err
	}
	var schema any
	if raw, there := text.top["schema"]; !there || json.Unmarshal(raw, &schema) != nil {
		schema = nil
		err = json.Unmarshal(data, new(struct{ Schema any }))
	}
	graphs := schema == nil && looksLikeGraphs(data)
	switch {
	case graphs: // its reader names the key at which a text stops being JSON
		c, err := importGraphs(data)
		return Document{Calibration: &c}, err
	case err != nil:
		return Document{}, explainIn(data, err)
	case schema == any(SchemaFusion):
		f, err := decodeFusion(data)
		return Document{Fusion: &f, text: data}, err
	case schema == any(SchemaCalibration):
		c, err := decodeCalibration(data, text)
		return Document{Calibration: &c}, err
	case schema == nil && (text.top["metadata"] != nil || text.top["operation_profiles"] != nil):
		c, err := importGraphs(data)
		return Document{Calibration: &c}, err
	}
	return Document{}, fmt.Errorf("schema: got %s, expected %q, %q, or a graphs file with metadata and operation_profiles", describe(schema), SchemaCalibration, SchemaFusion)
}

// looksLikeGraphs reports whether the first key at the top level is one of a graphs file, as
// that of a damaged one is, which cannot be parsed.
func looksLikeGraphs(data []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return false
	}
	key, err := dec.Token()
	return err == nil && (key == "metadata" || key == "operation_profiles")
}

// ReadFusion reads and validates a fusion profile, with errors as ReadCalibration gives them.
func ReadFusion(r io.Reader) (Fusion, error) {
	data, err := readAll(r, "fusion profile")
	if err != nil {
		return Fusion{}, err
	}
	return decodeFusion(data)
}

func decodeFusion(data []byte) (Fusion, error) {
	if err := ValidateFusion(data); err != nil {
		return Fusion{}, err
	}
	var f Fusion
	if err := json.Unmarshal(data, &f); err != nil {
		return Fusion{}, explainIn(data, err)
	}
	seen := map[string]string{}
	for i, p := range f.Patterns {
		for j, s := range p.Shapes {
			at := fmt.Sprintf("patterns[%d].shapes[%d]", i, j)
			if first, twice := seen[s.CaseID]; twice {
				return Fusion{}, fmt.Errorf("%s.case_id: case %q is %s already", at, clip(s.CaseID, 200), first)
			}
			seen[s.CaseID] = at
		}
	}
	return f, nil
}

// FusionProfiles decodes the document's fusion profiles.
func FusionProfiles(doc *Calibration) ([]Fusion, error) {
	var out []Fusion
	for i, raw := range doc.FusionProfiles {
		var f Fusion
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, fmt.Errorf("fusion_profiles[%d]: %w", i, explainJSON(err))
		}
		out = append(out, f)
	}
	return out, nil
}

// JoinFusion gives the calibrations with the fusion profiles of the same device of the same
// host in them. A profile joins the calibration of its own run, or the only one of its device;
// without one, or with several, it stands alone as a document that holds nothing else. The
// order of the documents stays. The same run in two calibrations is an error, as is the same case of a device in two
// profiles.
func JoinFusion(docs []Document) ([]Calibration, error) {
	var out []*Calibration
	holder := map[string]string{} // who has a case of a device of a host
	runs := map[string]string{}   // who has a run of a host
	for i := range docs {
		d := &docs[i]
		if d.Calibration != nil {
			c := *d.Calibration
			run := fmt.Sprintf("%q %s", c.RunID, hostKey(&c.Host))
			if other, twice := runs[run]; twice && c.RunID != "" {
				return nil, fmt.Errorf("%s: run %q is in %s already: give one of the two", d.Name, clip(c.RunID, 80), other)
			}
			runs[run] = d.Name
			c.FusionProfiles = append([]json.RawMessage(nil), c.FusionProfiles...)
			out = append(out, &c)
		}
	}
	at := 0
	var joined []*Calibration
	for i := range docs {
		d := &docs[i]
		if d.Calibration != nil {
			joined = append(joined, out[at])
			at++
			continue
		}
		home := homeOf(d.Fusion, out)
		if err := claim(holder, d, home); err != nil {
			return nil, err
		}
		if home == nil {
			home = standingAlone(d.Fusion)
			joined = append(joined, home)
		}
		home.FusionProfiles = append(home.FusionProfiles, d.text)
		if !d.Fusion.Complete {
			home.Summary.Warnings = append(home.Summary.Warnings[:len(home.Summary.Warnings):len(home.Summary.Warnings)],
				fmt.Sprintf("the fusion profile of run %s is not complete", clip(d.Fusion.RunID, 80)))
		}
	}
	all := make([]Calibration, 0, len(joined))
	for _, c := range joined {
		all = append(all, *c)
	}
	return all, nil
}

// homeOf is the calibration that a profile joins. Where either was given no name (--hardware) the machine tells.
func homeOf(f *Fusion, docs []*Calibration) *Calibration {
	for _, same := range []func(a, b *Host) bool{sameHost, sameMachine} {
		var found []*Calibration
		for _, c := range docs {
			if !same(&c.Host, &f.Host) {
				continue
			}
			for _, d := range c.Devices {
				if d.ID == f.Device.ID && d.Name == f.Device.Name {
					if c.RunID == f.RunID {
						return c
					}
					found = append(found, c)
				}
			}
		}
		if len(found) == 1 {
			return found[0]
		}
		if len(found) > 1 {
			return nil
		}
	}
	return nil
}

func sameHost(a, b *Host) bool { return hostKey(a) == hostKey(b) }

// sameMachine leaves a name out that only one of the two has.
func sameMachine(a, b *Host) bool {
	if a.Name != "" && b.Name != "" {
		return false
	}
	x, y := *a, *b
	x.Name, y.Name = "", ""
	return sameHost(&x, &y)
}

// hostKey tells machines apart. Virtual machines of one provider share host name and brand string, so that the silicon
// itself has its part in it.
func hostKey(h *Host) string {
	return fmt.Sprintf("%q %q %q %q %q %q %d %d %d %q", h.Name, h.Hostname, h.OS, h.Arch, h.CPU.Vendor, h.CPU.Model, h.CPU.Family, h.CPU.ModelNumber, h.CPU.Stepping, h.CPU.Microarchitecture)
}

// claim notes the profile's cases as its own; those that its calibration holds already are
// taken too.
func claim(holder map[string]string, d *Document, home *Calibration) error {
	f := d.Fusion
	key := func(id string) string {
		return fmt.Sprintf("%s %q %q %q", hostKey(&f.Host), f.Device.ID, f.Device.Name, id)
	}
	taken := map[string]bool{}
	if home != nil {
		// Profiles that were joined before have their names in holder.
		profiles, err := FusionProfiles(home)
		if err != nil {
			return err
		}
		for _, p := range profiles {
			for _, q := range p.Patterns {
				for _, s := range q.Shapes {
					taken[s.CaseID] = p.Device.ID == f.Device.ID
				}
			}
		}
	}
	for _, p := range f.Patterns {
		for _, s := range p.Shapes {
			other, twice := holder[key(s.CaseID)]
			if !twice && taken[s.CaseID] {
				other, twice = "the calibration that it joins", true
			}
			if twice {
				return fmt.Errorf("%s: case %q of %s is in %s already: give one of the two", d.Name, clip(s.CaseID, 200), clip(f.Device.ID, 60), other)
			}
		}
	}
	for _, p := range f.Patterns {
		for _, s := range p.Shapes {
			holder[key(s.CaseID)] = d.Name
		}
	}
	return nil
}

// standingAlone is a document that holds nothing but a profile.
func standingAlone(f *Fusion) *Calibration {
	c := &Calibration{Schema: SchemaCalibration, RunID: f.RunID, Created: f.Created, Tool: f.Tool, Command: []string{}, Host: f.Host, Devices: []Device{f.Device}}
	c.Summary = Summarize(nil)
	c.Summary.Quick, c.Summary.Complete = f.Quick, f.Complete
	return c
}
