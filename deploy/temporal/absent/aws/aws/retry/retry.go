// Package retry retries nothing.
package retry

// Standard retries nothing.
type Standard struct{}

// NewStandard returns it.
func NewStandard() Standard { return Standard{} }

// IsErrorRetryable refuses.
func (Standard) IsErrorRetryable(error) bool { return false }
