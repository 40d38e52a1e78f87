// Package stamp ties every cgo package to the C sources that the go command does not watch:
// headers outside a package's folder, and files of an extension it does not know (kernel
// tables .def, kernel bodies .inc). A hash of them in the #cgo CFLAGS line makes a change visible.
package stamp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

var (
	cflags = regexp.MustCompile(`(?m)^#cgo CFLAGS:.*$`)
	define = regexp.MustCompile(` -DRIDGE_STAMP=[0-9a-f]*`)
)

// Hash of native/include/*.h and of every .def and .inc file below native.
func Hash(root string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, "native", "include", "*.h"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("headers of native/include: %d files, %v", len(files), err)
	}
	err = filepath.WalkDir(filepath.Join(root, "native"), func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && (ext == ".def" || ext == ".inc") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	sort.Strings(files)
	h := sha256.New()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		rel, err := filepath.Rel(root, f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", filepath.ToSlash(rel), len(b))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}

// Stale lists the Go files whose #cgo CFLAGS line does not carry the current hash; with
// write it brings them up to date.
func Stale(root string, write bool) ([]string, error) {
	hash, err := Hash(root)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, dir := range []string{"native", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			want := cflags.ReplaceAllFunc(b, func(line []byte) []byte {
				return append(define.ReplaceAll(line, nil), " -DRIDGE_STAMP="+hash...)
			})
			if bytes.Equal(b, want) {
				return nil
			}
			out = append(out, path)
			if write {
				return os.WriteFile(path, want, 0o644)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
