//go:build !race

package sqldb

// nested and refuseNested check only in programs built with the race detector: finding out the goroutine costs as much as a small statement.
func nested(string) (end func()) { return func() {} }
func refuseNested(string)        {}
