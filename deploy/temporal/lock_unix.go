//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks the file for this process without waiting; false means that another process holds it. The kernel releases it when the
// process ends, for any reason.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
