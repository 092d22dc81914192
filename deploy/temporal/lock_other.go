//go:build !unix

package main

import "os"

// tryLock has no lock on this system; SQLite's own locks still protect the file.
func tryLock(*os.File) (bool, error) { return true, nil }
