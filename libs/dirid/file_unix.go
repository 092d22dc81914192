//go:build unix

package dirid

import (
	"errors"
	"os"
	"syscall"
)

// take waits for the lock of the file, which is kept until the file is closed or the process ends, however it ends.
func take(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }

// Sync puts the names of a directory's files on disk.
func Sync(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
