//go:build unix

package main

import (
	"os"
	"syscall"
)

// reexec replaces the process by a new one of the same program. It returns only on failure.
func reexec() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, os.Environ()) //nolint:gosec // this program
}
