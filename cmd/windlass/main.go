// Command windlass runs Windlass on this machine (windlass up), and is its command line.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // for machines that know no time zones

	"github.com/windlass-dev/windlass/internal/cli"
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
	os.Exit(run())
}

func run() int {
	end := profiled()
	defer end()
	a := app.OS(version)
	return a.Main(context.Background(), cli.New(a, serve.Commands(a)...), os.Args[1:])
}
