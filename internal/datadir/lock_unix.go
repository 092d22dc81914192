//go:build unix

package datadir

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// take locks the file until it is closed or the process ends, however it ends.
func take(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

func isReadOnly(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR)
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
