// Package aws stands for Amazon's clouds, which this server uses nothing of.
package aws

import (
	"context"
	"errors"
)

// ErrAbsent is the answer to what would need one.
var ErrAbsent = errors.New("this server uses nothing of AWS: use a Temporal cluster for that")

// Config configures clients that are never made.
type Config struct{ Credentials CredentialsProvider }

// ClientLogMode selects what clients log.
type ClientLogMode uint64

// Credentials are empty.
type Credentials struct{ AccessKeyID, SecretAccessKey, SessionToken string }

// CredentialsProvider provides credentials.
type CredentialsProvider interface {
	Retrieve(ctx context.Context) (Credentials, error)
}

// Retryer decides which errors are worth another attempt.
type Retryer interface{ IsErrorRetryable(err error) bool }

// String returns a pointer to s.
func String(s string) *string { return &s }

// Int32 returns a pointer to n.
func Int32(n int32) *int32 { return &n }
