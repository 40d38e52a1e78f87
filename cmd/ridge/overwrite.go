package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ridge/goharness/campaign"
)

// used is a file that must not be written over: one that the command reads, another one that it writes, or one of ridge's own.
type used struct{ what, path string }

// outputFlags name files that commands write.
var outputFlags = []string{"output", "power-trace", "plot"}

// checkOverwrite refuses to write over what the command reads or depends on: it would be lost, and the exit code would say that
// all is well. Names are compared by the file behind them, and where there is none yet by the place that they stand for.
func checkOverwrite(c *cli.Context, flag, path string) error {
	st, err := os.Stat(path)
	if err == nil && (st.IsDir() || st.Mode()&fs.ModeCharDevice != 0) {
		return nil // a folder is refused elsewhere; a device keeps nothing
	}
	exists, at := err == nil, place(path)
	same := func(other string) bool {
		if exists {
			if o, err := os.Stat(other); err == nil {
				return os.SameFile(st, o)
			}
		}
		return at == place(other)
	}
	for _, u := range append(inputs(c), others(c, flag)...) {
		if u.path == "-" {
			if in, err := os.Stdin.Stat(); !exists || err != nil || !os.SameFile(st, in) || !in.Mode().IsRegular() {
				continue
			}
			return fmt.Errorf("--%s %s is the file of standard input, which is read: name another file", flag, path)
		}
		if same(u.path) {
			return fmt.Errorf("--%s %s is the same file as %s: name another one", flag, path, u.what)
		}
	}
	dir, err := dataDir(c)
	if err != nil {
		return nil // who needs the folder says so
	}
	if own := ownFile(dir, at, same); own != "" {
		return fmt.Errorf("--%s %s is %s, a file that ridge keeps for itself: name another one", flag, path, own)
	}
	return nil
}

// inputs are the files that the command line names to be read.
func inputs(c *cli.Context) (out []used) {
	words := c.Args().Slice()
	switch name := c.Command.Name; {
	case name == "compare" && c.Bool("interleave"):
		for _, w := range words[:min(2, len(words))] {
			if file, err := binary(w); err == nil { // who runs it says what is wrong with it
				out = append(out, used{"the build " + w, file})
			}
		}
	case name == "report", name == "compare", name == "profile" && c.Bool("diff"):
		for _, w := range words {
			if isFile(w) { // others are runs of the history
				out = append(out, used{w + ", which is read", w})
			}
		}
	case name == "history" && len(words) > 1 && words[0] == "import":
		for _, w := range words[1:] {
			out = append(out, used{w + ", which is read", w})
		}
	}
	if f := c.String("from"); f != "" {
		out = append(out, used{"--from " + f, f})
	}
	if r := c.String("resume"); r != "" {
		journal := r
		if dir, err := dataDir(c); err == nil {
			journal = campaign.ResumePath(dir, r)
		}
		out = append(out, used{"the journal of --resume " + r, journal})
	}
	if self, err := os.Executable(); err == nil {
		out = append(out, used{"the running ridge", self})
	}
	return out
}

// others are the files that the command writes beside that of a flag.
func others(c *cli.Context, flag string) (out []used) {
	for _, name := range outputFlags {
		if path := c.String(name); name != flag && path != "" && path != "-" {
			out = append(out, used{"--" + name + " " + path, path})
		}
	}
	return out
}

// ownFile names the file of a data folder that a name stands for; "" where it is none that other runs need.
func ownFile(dir, at string, same func(string) bool) string {
	folder, runs := place(dir), place(filepath.Join(dir, "runs"))
	files := []string{filepath.Join(dir, "tuning.json")}
	for _, ending := range []string{"", "-wal", "-shm", "-journal"} {
		files = append(files, filepath.Join(dir, "history.db"+ending))
	}
	switch {
	case filepath.Dir(at) == folder && strings.HasSuffix(at, ".lock"), filepath.Dir(at) == runs && strings.HasSuffix(at, ".jsonl"):
		return at
	}
	for _, kept := range []struct{ dir, ending string }{{dir, ".lock"}, {filepath.Join(dir, "runs"), ".jsonl"}} { // another link to one
		entries, _ := os.ReadDir(kept.dir)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), kept.ending) {
				files = append(files, filepath.Join(kept.dir, e.Name()))
			}
		}
	}
	if i := slices.IndexFunc(files, same); i >= 0 {
		return files[i]
	}
	return ""
}

// place is the absolute name of a file with all links followed, whether it is there or not.
func place(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for range 40 { // as many links as the system follows
		dir, base := filepath.Split(path)
		path = filepath.Join(followed(dir), base)
		to, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if path = to; !filepath.IsAbs(to) {
			path = filepath.Join(followed(dir), to)
		}
	}
	return path
}

// followed is a folder with the links of its part that is there followed.
func followed(dir string) string {
	dir = filepath.Clean(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	if parent := filepath.Dir(dir); parent != dir {
		return filepath.Join(followed(parent), filepath.Base(dir))
	}
	return dir
}
