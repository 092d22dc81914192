// Command windlassd runs any subset of the mesh's roles in one process.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // for machines that know no time zones

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/serve"
	"github.com/windlass-dev/windlass/libs/child"
	"github.com/windlass-dev/windlass/libs/media"
	"github.com/windlass-dev/windlass/services/knowledge/parse"
)

// version is set by the linker.
var version string

func main() {
	child.Main(media.Work(), parse.Work())
	a := app.OS(version)
	os.Exit(a.Main(context.Background(), serve.Daemon(a), os.Args[1:]))
}
