//go:build !unix

package dirid

import "os"

func take(*os.File) error { return nil }

// Sync does nothing: these systems cannot sync a directory.
func Sync(string) error { return nil }
