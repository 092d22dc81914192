package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	// attemptEnv counts restarts.
	attemptEnv  = "WINDLASS_TEMPORAL_ATTEMPT"
	maxAttempts = 5
)

// fatal replaces the exit of a server that cannot continue; it does not return.
//
// The only case worth a retry is a port that was taken between reservePorts and the server's listen. By then the server is half built and
// cannot be stopped, so the whole program restarts within the same process: same pid, same pipes.
func (p *program) fatal(opts options, message string, details map[string]any) {
	if strings.Contains(fmt.Sprint(details["error"]), "address already in use") {
		p.retryStart(opts, fmt.Sprint(details["address"]))
	}
	p.complain(fmt.Errorf("%s: %v", message, details["error"]))
	os.Exit(exitError)
}

// retryStart restarts, or ends the program if that is pointless.
func (p *program) retryStart(opts options, address string) {
	attempt, _ := strconv.Atoi(os.Getenv(attemptEnv)) // unset means the first
	fixed := opts.port != 0 && strings.HasSuffix(address, ":"+strconv.Itoa(opts.port))
	switch {
	case fixed:
		p.complain(portInUse(opts.host, opts.port, "--port"))
	case attempt+1 >= maxAttempts:
		p.complain(fmt.Errorf("no free ports after %d attempts: %s was taken", maxAttempts, address))
	default:
		err := os.Setenv(attemptEnv, strconv.Itoa(attempt+1))
		if err == nil {
			err = reexec()
		}
		p.complain(fmt.Errorf("%s was taken while starting, try again: %w", address, err))
	}
	os.Exit(exitError)
}
