//go:build !linux

package memlimit

// Trim does nothing here.
func Trim() {}
