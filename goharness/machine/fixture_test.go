package machine

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// fixture expands testdata/machine/NAME.txt into a temporary root. The file has one entry
// a line:
//
//	/path = value           one file; \n in the value is a line break
//	/path <hex> = 11 2a …   one file of binary bytes
//	/path <<                a file of several lines, ended by a line with "." alone
//	# comment
//
// {0..3} and {0,2,5} in a path make one file for each number; in the value @ stands for
// the number and @+16 or @-16 for a sum with it.
func fixture(t *testing.T, name string) string {
	t.Helper()
	root := t.TempDir()
	expand(t, name, root)
	return root
}

// sharedRoot holds the trees that tests only read, each expanded once.
var sharedRoot string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "machine")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sharedRoot = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// sharedFixture is fixture for tests that do not write into the tree.
func sharedFixture(t *testing.T, name string) string {
	t.Helper()
	root := filepath.Join(sharedRoot, name)
	if _, err := os.Stat(root); err != nil {
		expand(t, name, root)
	}
	return root
}

func expand(t *testing.T, name, root string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "machine", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string, content []byte) {
		full := filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t")
		if line == "" || line[0] == '#' {
			continue
		}
		if path, ok := strings.CutSuffix(line, " <<"); ok {
			var body strings.Builder
			for i++; i < len(lines) && lines[i] != "."; i++ {
				body.WriteString(lines[i] + "\n")
			}
			write(path, []byte(body.String()))
			continue
		}
		path, value, ok := strings.Cut(line, " =")
		if !ok {
			t.Fatalf("%s.txt:%d: %q has no =", name, i+1, line)
		}
		value = strings.TrimPrefix(value, " ")
		if p, isHex := strings.CutSuffix(path, " <hex>"); isHex {
			b, err := hex.DecodeString(strings.ReplaceAll(value, " ", ""))
			if err != nil {
				t.Fatalf("%s.txt:%d: %v", name, i+1, err)
			}
			write(p, b)
			continue
		}
		for _, n := range braces(t, path) {
			write(n.path, []byte(strings.ReplaceAll(n.expand(value), `\n`, "\n")+"\n"))
		}
	}
}

type numbered struct {
	path   string
	number int
	set    bool
}

func (n numbered) expand(value string) string {
	if !n.set {
		return value
	}
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '@' {
			out.WriteByte(value[i])
			continue
		}
		v := n.number
		if i+2 < len(value) && (value[i+1] == '+' || value[i+1] == '-') {
			d := digits(value[i+2:])
			k, _ := strconv.Atoi(value[i+2 : i+2+d])
			if value[i+1] == '-' {
				k = -k
			}
			v += k
			i += 1 + d
		}
		fmt.Fprint(&out, v)
	}
	return out.String()
}

// braces expands the one {…} a path may have.
func braces(t *testing.T, path string) []numbered {
	t.Helper()
	before, rest, ok := strings.Cut(path, "{")
	if !ok {
		return []numbered{{path: path}}
	}
	inside, after, _ := strings.Cut(rest, "}")
	list, err := ParseCPUList(strings.ReplaceAll(inside, "..", "-"))
	if err != nil {
		t.Fatalf("fixture path %s: %v", path, err)
	}
	var out []numbered
	for _, n := range list {
		out = append(out, numbered{before + strconv.Itoa(n) + after, n, true})
	}
	return out
}
