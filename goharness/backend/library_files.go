package backend

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LibraryPathVariable names directories (or files) that are searched for vendor libraries before the loader's own places.
const LibraryPathVariable = "RIDGE_VENDOR_PATH"

// LibraryFiles is how a vendor library is found.
type LibraryFiles struct {
	Title string
	Stem  string   // of the file's name
	Names []string // that the loader is asked for, the newest first
}

// Open opens the first file that is one, in the order of the search, by load, whose error is what the loader says (dlerror).
func (l LibraryFiles) Open(search string, load func(file string) error) (file string, err error) {
	var reasons []string
	for _, file := range l.Places(search) {
		err := load(file)
		if err == nil {
			return file, nil
		}
		if !strings.HasPrefix(err.Error(), file+": cannot open shared object file: No such file") {
			reasons = append(reasons, err.Error())
		}
	}
	if len(reasons) == 0 {
		reasons = []string{"none of " + strings.Join(l.Names, ", ") + " is found"}
	}
	return "", fmt.Errorf("%s is not here: %s; %s may name its directory", l.Title, strings.Join(reasons, "; "), LibraryPathVariable)
}

// Places lists the files to try: those of the search path that exist, then the names that the
// loader looks up in LD_LIBRARY_PATH and its own directories.
func (l LibraryFiles) Places(search string) []string {
	var out []string
	for _, p := range filepath.SplitList(search) {
		if p == "" {
			continue
		}
		if abs, err := filepath.Abs(p); err == nil { // a name without a slash would be looked up
			p = abs
		}
		if st, err := os.Stat(p); err == nil && !st.IsDir() {
			if strings.HasPrefix(filepath.Base(p), l.Stem) {
				out = append(out, p)
			}
			continue
		}
		for _, f := range l.Names {
			f = filepath.Join(p, f)
			if _, err := os.Stat(f); err == nil {
				out = append(out, f)
			}
		}
	}
	return append(out, l.Names...)
}
