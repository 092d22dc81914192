// Command windlass-temporal is the Temporal server that `windlass up` runs as a child process: all four services in one process, one SQLite
// file, and the web UI. It is for one machine; use a Temporal cluster in production.
package main

import (
	"os"
	_ "time/tzdata" // for machines that know no time zones: schedules name them
)

func main() {
	os.Exit(newProgram().execute(os.Args[1:]))
}
