//go:build !unix

package sqldb

// lockFile does nothing where there are no advisory locks; SQLite's own locks still keep the data whole.
func lockFile(string) (unlock func() error, err error) { return func() error { return nil }, nil }
