// Package benchmarks embeds the committed calibration documents, one folder per chip, so
// that "verified on" in listings is derived from measurements and never typed.
package benchmarks

import (
	"bytes"
	"embed"
	"io/fs"
	"path"
	"slices"
	"sync"

	"ridge/goharness/record"
)

//go:embed */*.json
var files embed.FS

// verified maps a kernel to the chips (folders) with a verified result of it.
var verified = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	_ = fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".json" {
			return nil
		}
		b, err := files.ReadFile(p)
		if err != nil {
			return nil
		}
		doc, err := record.ReadCalibration(bytes.NewReader(b))
		if err != nil {
			return nil // another kind of document
		}
		chip := path.Dir(p)
		for _, r := range doc.Results {
			if r.Verification != nil && r.Verification.Passed && !slices.Contains(out[r.Kernel], chip) {
				out[r.Kernel] = append(out[r.Kernel], chip)
			}
		}
		return nil
	})
	return out
})

// VerifiedOn lists the chips on which a committed document shows the kernel verified.
func VerifiedOn(kernel string) []string { return verified()[kernel] }
