// Command windlass-temporal is the Temporal server `windlass up` runs as a child process: all four services in one
// process, one SQLite file, the web UI. It is for one machine; production uses a Temporal cluster.
package main

import (
	"os"
	_ "time/tzdata" // for machines that know no time zones: schedules name them
)

func main() {
	os.Exit(newProgram().execute(os.Args[1:]))
}
