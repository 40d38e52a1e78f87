package toyop_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var (
	block = regexp.MustCompile("(?ms)^<!-- file: (\\S+) -->\n```[a-z]+\n(.*?)^```$")
	stamp = regexp.MustCompile(` -DRIDGE_STAMP=[0-9a-f]*`)
)

// TestTheCodeOfExtendingMdIsTheCodeHere keeps the documentation from rotting: each code
// block with a file name is that file (but for the stamp of the headers), and every file of
// the worked examples is shown.
func TestTheCodeOfExtendingMdIsTheCodeHere(t *testing.T) {
	const root = "../.."
	doc, err := os.ReadFile(filepath.Join(root, "docs", "extending.md"))
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, m := range block.FindAllSubmatch(doc, -1) {
		name := string(m[1])
		shown = append(shown, name)
		file, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Errorf("extending.md shows %s: %v", name, err)
			continue
		}
		if string(stamp.ReplaceAll(file, nil)) != string(m[2]) {
			t.Errorf("extending.md shows other code than %s has", name)
		}
	}
	for _, dir := range []string{"toyop", "toypattern", "toydevice", "toyview"} {
		files, err := os.ReadDir(filepath.Join(root, "internal", dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if name := "internal/" + dir + "/" + f.Name(); f.Name() != "doc_test.go" && !slices.Contains(shown, name) {
				t.Errorf("extending.md does not show %s", name)
			}
		}
	}
}
