// Package smithy stands for the base of Amazon's clients.
package smithy

// APIError is an error of a server that is never called.
type APIError interface {
	error
	ErrorCode() string
}
