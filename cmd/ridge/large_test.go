package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// largeFile is 100 MB of one kind, as a damaged, hostile or very long document may be.
const largeFile = 100_000_000

// repeated stands around what is written until a file is large.
const repeated = "\x01"

// largeFiles writes files of 100 MB and says with which exit code report must end.
func largeFiles(tb testing.TB) map[string]int {
	tb.Helper()
	var sample bytes.Buffer
	if err := record.WriteCalibration(&sample, recordtest.Sample()); err != nil {
		tb.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(sample.Bytes(), &doc); err != nil {
		tb.Fatal(err)
	}
	with := func(key, value string) string {
		var b strings.Builder
		b.WriteString(`{"` + key + `":` + value)
		for k, v := range doc {
			if k != key {
				b.WriteString(`,"` + k + `":` + string(v))
			}
		}
		return b.String() + "}"
	}
	fill := func(before, unit, after string) string {
		return before + repeated + unit + repeated + after // written piece by piece: this process stays small
	}
	first := func() (with func(samples string) string) {
		var rs []map[string]json.RawMessage
		if err := json.Unmarshal(doc["results"], &rs); err != nil {
			tb.Fatal(err)
		}
		var t map[string]json.RawMessage
		if err := json.Unmarshal(rs[0]["time"], &t); err != nil {
			tb.Fatal(err)
		}
		t["samples_ns"] = json.RawMessage("[4242]")
		text, err := json.Marshal(t)
		if err != nil {
			tb.Fatal(err)
		}
		rs[0]["time"] = text
		list, err := json.Marshal(rs[:1])
		if err != nil {
			tb.Fatal(err)
		}
		return func(samples string) string { return strings.Replace(string(list), "[4242]", samples, 1) }
	}()
	dir := tb.TempDir()
	files := map[string]int{}
	for name, c := range map[string]struct {
		text string
		code int
	}{
		"samples":       {with("results", first(fill("[1", ",123456.75", "]"))), exitUsage},
		"short samples": {with("results", first(fill("[1", ",7", "]"))), exitUsage},
		"empty lists":   {with("results", fill("[[]", ",[]", "]")), exitUsage},
		"objects":       {with("results", fill("[{}", `,{"id":"a"}`, "]")), exitUsage},
		"keys":          {with("later", fill(`{"a":1`, `,"b":2`, "}")), exitUsage},
		"strings":       {with("later", fill(`["a"`, `,"bcdefgh"`, "]")), exitUsage},
		"one string":    {with("later", fill(`"`, "abcdefghi\\n", `"`)), exitUsage},
		"nested":        {fill(`{"schema":`, "[", ""), exitUsage},
		"cut off":       {fill(`{"schema":"ridge.calibration/1","results":[`, `{"id":"a","text":"`+strings.Repeat("x", 800)+`"},`, `{"id`), exitUsage},
		"foreign":       {fill("", "\x00\x02\xfe\xffPNG", ""), exitUsage},
		"spaces":        {fill("", " ", ""), exitUsage},
		"not a number":  {with("results", first(fill("[1", ",1.5", ",NaN]"))), exitUsage},
		"graphs":        {fill(`{"metadata":{"a":[1`, ",2", "]}}"), exitUsage},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".json")
		f, err := os.Create(path)
		if err != nil {
			tb.Fatal(err)
		}
		parts := strings.Split(c.text, repeated)
		block := strings.Repeat(parts[1], 1+1<<16/len(parts[1]))
		_, err = f.WriteString(parts[0])
		for n := 0; n < largeFile-len(parts[0]) && err == nil; n += len(block) {
			_, err = f.WriteString(block)
		}
		if err == nil {
			_, err = f.WriteString(parts[2])
		}
		if cerr := f.Close(); err != nil || cerr != nil {
			tb.Fatal(err, cerr)
		}
		files[path] = c.code
	}
	whole := filepath.Join(dir, "many-samples.json")
	if err := writeWhole(whole, doc, 5000); err != nil {
		tb.Fatal(err)
	}
	files[whole] = exitOK
	return files
}

// writeWhole writes a document of 100 MB in which nothing is wrong: its first result again and again, under names of its own,
// with so many samples of 17 digits.
func writeWhole(path string, doc map[string]json.RawMessage, samples int) error {
	var rs []map[string]json.RawMessage
	if err := json.Unmarshal(doc["results"], &rs); err != nil {
		return err
	}
	var t map[string]json.RawMessage
	var id string
	if err := errors.Join(json.Unmarshal(rs[0]["time"], &t), json.Unmarshal(rs[0]["id"], &id)); err != nil {
		return err
	}
	t["samples_ns"] = json.RawMessage("[" + strings.TrimSuffix(strings.Repeat("123456.7890123456,", samples), ",") + "]")
	rs[0]["id"] = json.RawMessage(`"NAME"`)
	var err error
	if rs[0]["time"], err = json.Marshal(t); err != nil {
		return err
	}
	one, err := json.Marshal(rs[0])
	if err != nil {
		return err
	}
	doc = maps.Clone(doc)
	doc["results"] = json.RawMessage(`["RESULTS"]`)
	whole, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	before, after, _ := strings.Cut(string(whole), `"RESULTS"`)
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprint(w, before) // the writer keeps its first error for Flush
	for n := 0; n*len(one) < largeFile; n++ {
		if n > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprint(w, strings.Replace(string(one), `"NAME"`, fmt.Sprintf(`"%s@kernel_%d"`, id, n), 1))
	}
	fmt.Fprint(w, after)
	return errors.Join(w.Flush(), f.Close())
}

// Time and memory of reading stay bounded, whatever is in the file.
func BenchmarkReadLargeFiles(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	files := largeFiles(b)
	for b.Loop() {
		for file, want := range files {
			cmd := exec.Command(self, "report", "--format", "insights", file)
			cmd.Env = append(os.Environ(), "RIDGE_TEST_MAIN=1")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			start := time.Now()
			_ = cmd.Run() // the exit code says it
			took, peak := time.Since(start), peakMemory(cmd.ProcessState)
			b.Logf("%-20s exit code %d after %.2f s, %d MB: %.150s", filepath.Base(file), cmd.ProcessState.ExitCode(), took.Seconds(), peak>>20, strings.TrimSpace(stderr.String()))
			if code := cmd.ProcessState.ExitCode(); code != want {
				b.Errorf("%s: exit code %d, expected %d", file, code, want)
			}
			if took > 5*time.Second || peak > 1<<30 {
				b.Errorf("%s: %v and %d MB, expected at most 5 s and 1 GB", file, took, peak>>20)
			}
			if want == exitOK && stderr.Len() > 0 {
				b.Errorf("%s: it says %q", file, stderr.String())
			}
			if want == exitUsage && (!strings.Contains(stderr.String(), filepath.Base(file)) || strings.Count(stderr.String(), "\n") != 1) {
				b.Errorf("%s: the message is %q", file, stderr.String())
			}
		}
	}
}

// measuredDocument is a document of n results as a calibration of this kind gives them, with so many samples of each at most (0: all).
func measuredDocument(tb testing.TB, name string, n, samples int) []byte {
	tb.Helper()
	text, err := os.ReadFile("../../docs/benchmarks/zen5-turin/quick.json")
	if err != nil {
		tb.Fatal(err)
	}
	doc, err := record.ReadCalibration(bytes.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	measured := doc.Results
	doc.RunID, doc.Devices[0].Name, doc.Results = name, name, nil
	for i := range n {
		r := measured[i%len(measured)]
		if r.ID = fmt.Sprintf("%s@kernel_%d", r.ID, i); r.Time != nil && samples > 0 {
			t := *r.Time
			t.SamplesNS, t.Disturbed, r.Time = t.SamplesNS[:min(samples, len(t.SamplesNS))], nil, &t
		}
		doc.Results = append(doc.Results, r)
	}
	if text, err = record.EncodeCalibration(doc); err != nil {
		tb.Fatal(err)
	}
	return text
}

// BenchmarkCommandsOnMeasuredDocuments times whole commands, from the start of the process on: reading is most of it.
func BenchmarkCommandsOnMeasuredDocuments(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			b.Fatal(err)
		}
		return path
	}
	for _, samples := range []int{28, 0} {
		text := measuredDocument(b, "machine", 10000, samples)
		old, new := write("old.json", text), write("new.json", text)
		var ten []string
		for i := range 10 {
			ten = append(ten, write(fmt.Sprintf("machine-%d.json", i), measuredDocument(b, fmt.Sprint("machine ", i), 1000, samples)))
		}
		for name, args := range map[string][]string{
			"compare two of 10000 results": {"compare", "--fail-on", "none", old, new},
			"page of ten with 1000":        append([]string{"report", "--format", "html", "--output", filepath.Join(dir, "page.html")}, ten...),
		} {
			b.Run(fmt.Sprintf("%s, %d KB each", name, len(text)/10_000/1000), func(b *testing.B) {
				for b.Loop() {
					cmd := exec.Command(self, append([]string{args[0], "--data-dir", dir}, args[1:]...)...)
					cmd.Env = append(os.Environ(), "RIDGE_TEST_MAIN=1")
					if out, err := cmd.CombinedOutput(); err != nil {
						b.Fatalf("%v: %.300s", err, out)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/command")
			})
		}
	}
}
