//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the file for this process without waiting; false means another process has it. The kernel lets go of
// it when the process ends, whatever ended it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
