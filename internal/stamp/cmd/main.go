// Command stamp writes the hash of native/include into every #cgo CFLAGS line.
package main

import (
	"fmt"
	"os"

	"ridge/internal/stamp"
)

func main() {
	changed, err := stamp.Stale(".", true)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stamp:", err)
		os.Exit(1)
	}
	for _, f := range changed {
		fmt.Println("stamped", f)
	}
}
