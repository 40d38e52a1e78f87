package native

import "embed"

// Sources are the kernels' C files, one folder for each family. Profiles point at them.
//
//go:embed */*.c */*.h */*.inc */*.def
var Sources embed.FS
