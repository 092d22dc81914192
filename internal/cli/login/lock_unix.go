//go:build unix

package login

import (
	"os"
	"syscall"
)

// take waits for the lock on a file, which lasts until the file is closed.
func take(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }
