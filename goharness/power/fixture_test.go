package power

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixture expands testdata/power/NAME.txt into a directory: lines "/path = value" and
// "/path -> target" of a link.
func fixture(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "power", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if path, target, ok := strings.Cut(line, " -> "); ok {
			if err := os.Symlink(target, filepath.Join(root, path)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		path, value, ok := strings.Cut(line, " = ")
		if !ok {
			t.Fatalf("fixture %s: line %q", name, line)
		}
		set(t, root, path, value)
	}
	return root
}

func set(t *testing.T, root, path, value string) {
	t.Helper()
	full := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(value+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// denied refuses files that end in a suffix, as the kernel does to everybody but root.
func denied(suffix string) func(string) ([]byte, error) {
	return func(p string) ([]byte, error) {
		if strings.HasSuffix(p, suffix) {
			return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrPermission}
		}
		return os.ReadFile(p)
	}
}
