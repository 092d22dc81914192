//go:build !unix

package datadir

import "os"

func take(*os.File) error { return nil }

func isReadOnly(error) bool { return false }

func isFull(error) bool { return false }
