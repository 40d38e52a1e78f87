package cuda

import "embed"

// Sources are the kernels' files, one folder for each family. Profiles point at them.
//
//go:embed */*.cu */*.cuh
var Sources embed.FS
