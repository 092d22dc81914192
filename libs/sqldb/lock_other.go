//go:build !unix

package sqldb

// lockFile does nothing without advisory locks; SQLite's own locks still protect the data.
func lockFile(string) (unlock func() error, err error) { return func() error { return nil }, nil }
