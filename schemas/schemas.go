// Package schemas holds the JSON Schema files of ridge's documents. They are generated
// from the Go types; tests compare them with what the types give.
package schemas

import "embed"

//go:embed *.schema.json
var files embed.FS

// Read returns a schema file by name, such as "ridge.calibration-1.schema.json".
func Read(name string) ([]byte, error) { return files.ReadFile(name) }
