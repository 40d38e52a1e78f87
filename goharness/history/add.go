package history

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"ridge/goharness/measure"
	"ridge/goharness/record"
	"ridge/goharness/tune"
)

// Sources of a run.
const (
	FromRun      = "run"      // imported when it ended
	FromJournal  = "journal"  // made of its journal: it ended by a crash, or could not be stored then
	FromDocument = "document" // imported by the user
)

// Added says what became of a run that was given to Add.
type Added int

// What can become of it.
const (
	Stored   Added = iota // it is new
	Replaced              // it went on with an incomplete run of the same id, or had what the stored run lacks
	Known                 // it was there
)

// maxStored bounds a stored document when it is unpacked.
const maxStored = 1 << 30

// Add stores a run. A run id that is there already is left alone, unless it was incomplete there
// and d has more, or was made of its journal and d is the document that the run wrote. A run and its fusion profiles, which are
// documents of their own, are joined in whatever order they come.
func (s *Store) Add(ctx context.Context, d record.Calibration, source string) (Added, error) {
	if err := checkRunID(d.RunID); err != nil {
		return Known, err
	}
	if _, err := time.Parse(time.RFC3339Nano, d.Created); err != nil { // it would be the newest, or the oldest, for ever
		return Known, fmt.Errorf("history: created: got %.60q, expected a time such as 2026-01-02T03:04:05Z (RFC 3339)", d.Created)
	}
	if ofJournal(&d) {
		source = FromJournal
	}
	r, err := rowOf(d, source)
	if err != nil {
		return Known, err
	}
	done := Stored
	err = s.write(ctx, func(tx *sql.Tx) error {
		done = Stored
		var id int64
		var had storedRun
		switch err := tx.QueryRowContext(ctx, "SELECT id, complete, results, source FROM runs WHERE run_id = ?", d.RunID).Scan(&id, &had.complete, &had.results, &had.source); {
		case errors.Is(err, sql.ErrNoRows):
			row, err := tx.ExecContext(ctx, "INSERT INTO runs ("+rowColumns+") VALUES (?"+strings.Repeat(", ?", len(r.values)-1)+")", r.values...)
			if err != nil {
				return err
			}
			if id, err = row.LastInsertId(); err != nil {
				return err
			}
			return r.fill(ctx, tx, id)
		case err != nil:
			return err
		}
		put, err := s.joined(ctx, tx, id, had, r)
		if err != nil {
			return err
		}
		if put == nil {
			done = Known
			return nil
		}
		done = Replaced
		for _, q := range []string{"DELETE FROM points WHERE run = ?", "DELETE FROM documents WHERE run = ?"} {
			if _, err := tx.ExecContext(ctx, q, id); err != nil {
				return err
			}
		}
		// It may have been gone on with by another build, and a journal tells less of the machine than a document.
		if _, err := tx.ExecContext(ctx, "UPDATE runs SET ("+rowColumns+") = (?"+strings.Repeat(", ?", len(put.values)-1)+") WHERE id = ?", append(put.values, id)...); err != nil {
			return err
		}
		// A baseline is that of its run's machine; one that the machine has keeps its place.
		if _, err := tx.ExecContext(ctx, "UPDATE OR IGNORE baselines SET host_fingerprint = ? WHERE run = ?", HostFingerprint(&put.d), id); err != nil {
			return err
		}
		return put.fill(ctx, tx, id)
	})
	return done, err
}

// row is what is stored of a run.
type row struct {
	d      record.Calibration
	source string
	values []any // of rowColumns
	packed []byte
	points []point
}

const rowColumns = `run_id, created, imported, kind, command, host, host_fingerprint, software_fingerprint, chip, version, revision, quick, complete, results, source`

func rowOf(d record.Calibration, source string) (*row, error) {
	packed, err := pack(d)
	if err != nil {
		return nil, err
	}
	ps, err := points(&d)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", d.RunID, err)
	}
	command, err := json.Marshal(d.Command)
	if err != nil {
		return nil, err
	}
	return &row{d, source, []any{d.RunID, utc(d.Created), now(), kind(&d), string(command), hostName(&d), HostFingerprint(&d), SoftwareFingerprint(&d), chip(&d),
		d.Tool.Version, d.Tool.Revision, d.Summary.Quick, d.Summary.Complete, len(d.Results), source}, packed, ps}, nil
}

// fill stores the document and the points of the run with an id.
func (r *row) fill(ctx context.Context, tx *sql.Tx, id int64) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO documents (run, gzip) VALUES (?, ?)", id, r.packed); err != nil {
		return err
	}
	return insertPoints(ctx, tx, id, r.points)
}

func insertPoints(ctx context.Context, tx *sql.Tx, run int64, ps []point) error {
	name, err := tx.PrepareContext(ctx, "INSERT INTO cases (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = name RETURNING id")
	if err != nil {
		return err
	}
	defer name.Close()
	add, err := tx.PrepareContext(ctx, "INSERT INTO points (case_id, run, status, median_ns, lo_ns, hi_ns, gflops, gbps, joules) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer add.Close()
	for _, p := range ps {
		var id int64
		if err := name.QueryRowContext(ctx, p.name).Scan(&id); err != nil {
			return err
		}
		if _, err := add.ExecContext(ctx, id, run, string(p.status), p.median, p.lo, p.hi, p.gflops, p.gbps, p.joules); err != nil {
			return err
		}
	}
	return nil
}

// point is what a run measured of a case; what it did not is null.
type point struct {
	name                                 string
	status                               record.Status
	median, lo, hi, gflops, gbps, joules sql.NullFloat64
}

func some(v float64) sql.NullFloat64 {
	return sql.NullFloat64{Float64: v, Valid: v > 0 && !math.IsInf(v, 0)}
}

// points lists the figures of a document: its results, the arms of comparisons and the programs
// of fusion profiles under "ID arm". What was measured at the same time as other devices has a trend of its own: "ID beside DEVICE+…".
func points(d *record.Calibration) ([]point, error) {
	var out []point
	seen := map[string]bool{}
	add := func(p point) {
		if p.name != "" && !seen[p.name] {
			seen[p.name] = true
			out = append(out, p)
		}
	}
	of := func(name string, r *record.Result, t *record.Time, gflops, gbps float64) point {
		p := point{name: name, status: r.Status}
		if t != nil && r.Status.Counts() {
			p.median, p.lo, p.hi = some(t.MedianNS), some(t.CI95NS[0]), some(t.CI95NS[1])
			p.gflops, p.gbps = some(gflops), some(gbps)
		}
		return p
	}
	for i := range d.Results {
		r := &d.Results[i]
		id := r.ID
		if with := r.Conditions.With(); len(with) > 0 {
			id += " beside " + strings.Join(with, "+")
		}
		arms, ok := measure.ArmTimes(r)
		for i, a := range r.Arms {
			p := point{name: id + " " + a.Name, status: r.Status}
			if ok {
				p.median, p.gflops, p.gbps = some(arms[i]), some(float64(a.FLOPs)/arms[i]), some(float64(a.Bytes)/arms[i])
			}
			add(p)
		}
		if len(r.Arms) == 0 {
			p := of(id, r, r.Time, r.GFLOPS, r.BandwidthGBps)
			if e := r.Energy; e != nil && e.Joules > 0 && r.Status.Counts() {
				p.joules = some(e.Joules / float64(max(e.Launches, 1)))
			}
			add(p)
		}
	}
	profiles, err := record.FusionProfiles(d)
	if err != nil {
		return nil, err
	}
	for _, f := range profiles {
		for _, q := range f.Patterns {
			for _, s := range q.Shapes {
				for name, v := range map[string][2]float64{" unfused": {s.UnfusedMS, s.UnfusedGFLOPS}, " fused": {s.FusedMS, s.FusedGFLOPS}} {
					p := point{name: s.CaseID + name, status: s.Status}
					if s.CaseID == "" {
						continue
					}
					if s.Status.Counts() {
						p.median, p.gflops = some(v[0]*1e6), some(v[1])
					}
					add(p)
				}
			}
		}
	}
	return out, nil
}

func pack(d record.Calibration) ([]byte, error) {
	text, err := record.EncodeCalibration(d)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func unpack(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, maxStored+1))
	if err == nil && len(text) > maxStored {
		err = fmt.Errorf("the document is longer than %d bytes", maxStored)
	}
	return text, err
}

// HostFingerprint names the machine: its name where one was given, what the CPU and caches are, and the
// devices. Runs of one fingerprint are shown as one trend.
func HostFingerprint(d *record.Calibration) string {
	var devices []string
	for _, x := range d.Devices {
		devices = append(devices, x.ID+" "+x.Name)
	}
	return fingerprint(d.Host.Name, tune.Identify(d.Host), devices)
}

// SoftwareFingerprint names what may change while the machine stays: ridge, compiler, system, drivers.
func SoftwareFingerprint(d *record.Calibration) string {
	kernel, _ := d.Host.Kernel.Get()
	var drivers []string
	for _, x := range d.Devices {
		drivers = append(drivers, x.Facts["driver"])
	}
	return fingerprint(d.Tool, kernel, drivers)
}

func fingerprint(parts ...any) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(parts) // plain data: cannot fail
	return hex.EncodeToString(h.Sum(nil)[:6])
}

func hostName(d *record.Calibration) string {
	if d.Host.Name != "" {
		return d.Host.Name
	}
	return d.Host.Hostname
}

func chip(d *record.Calibration) string {
	name := d.Host.CPU.Model
	for _, x := range d.Devices {
		if x.ID != "cpu" || name == "" {
			name = x.Name
		}
	}
	return name
}

// kindVerify is the kind of runs that hold kernels against expectations and measure nothing. They are listed and shown; the latest run,
// trends and the drift are of the others.
const kindVerify = "verify"

// Kinds of runs: the subcommands that make them, and documents of which none is known.
var Kinds = []string{"calibrate", "bench", "fusion", "profile", kindVerify, kindDocument}

const kindDocument = "document"

// kind is the subcommand that made the run.
func kind(d *record.Calibration) string {
	for _, w := range d.Command[min(1, len(d.Command)):] {
		if !strings.HasPrefix(w, "-") {
			if w != kindDocument && slices.Contains(Kinds, w) {
				return w
			}
		}
	}
	return kindDocument
}

// utc brings a time, which Add has looked at, into the form that sorts as text.
func utc(s string) string {
	t, _ := time.Parse(time.RFC3339Nano, s)
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05Z") }
