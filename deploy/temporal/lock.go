package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockDatabase prevents a second server from using the same file: two would corrupt each other's state, since each assumes that it owns all
// history shards. The lock file is kept on purpose; removing it would create a race.
func lockDatabase(path string) (*os.File, error) {
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("no directory %s for the database: create it, or choose another file with --db-filename", dir)
	}
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, notWritable(path, err)
	}
	free, err := tryLock(f)
	if err == nil && !free {
		err = inUse(path, f)
	}
	if err == nil {
		err = writeOwner(f)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// writeOwner writes the pid for the error message of a second server.
func writeOwner(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("write %s: %w", f.Name(), err)
	}
	if _, err := fmt.Fprintf(f, "%d\n", os.Getpid()); err != nil {
		return fmt.Errorf("write %s: %w", f.Name(), err)
	}
	return nil
}

func inUse(path string, f *os.File) error {
	owner, _ := io.ReadAll(io.LimitReader(f, 32)) // only for the message
	return fmt.Errorf("another server (pid %s) is using %s: stop it, or choose another file with --db-filename",
		strings.TrimSpace(string(owner)), path)
}

func notWritable(path string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // the path is already in our text
	}
	todo := "make it and its directory writable"
	if strings.Contains(err.Error(), "full") || errors.Is(err, syscall.ENOSPC) {
		todo = "free some space on its disk"
	}
	return fmt.Errorf("cannot write %s: %w: %s, or choose another file with --db-filename", path, err, todo)
}
