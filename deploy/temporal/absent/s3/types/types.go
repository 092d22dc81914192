// Package types has what calls of S3 carry.
package types

// NoSuchBucket is never returned.
type NoSuchBucket struct{ error }

// NoSuchKey is never returned.
type NoSuchKey struct{ error }

// CommonPrefix is a folder.
type CommonPrefix struct{ Prefix *string }

// Object is a file.
type Object struct{ Key *string }
