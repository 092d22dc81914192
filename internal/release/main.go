// Command release packs programs that were built for several platforms into archives that people download. `make dist` runs it. Its
// arguments are files for every archive.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/windlass-dev/windlass/internal/release/archive"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run() error {
	var r archive.Release
	date := flag.String("date", "", "the `time` of the commit in RFC 3339: that of every file in the archives")
	flag.StringVar(&r.Version, "version", "", "the `version` that names the archives, like v0.1.0")
	flag.StringVar(&r.Commit, "commit", "", "the `commit` that the programs were built from")
	flag.StringVar(&r.Programs, "programs", "bin/dist", "`folder` with the programs of each archive, in folders like windlass/linux_amd64")
	flag.StringVar(&r.Out, "out", "dist", "`folder` for the archives and what describes them")
	flag.Parse()
	at, err := time.Parse(time.RFC3339, *date)
	if err != nil {
		return fmt.Errorf("-date %q is no time in RFC 3339: %w", *date, err)
	}
	r.Time, r.Files = at.UTC(), flag.Args()
	return r.Write()
}
