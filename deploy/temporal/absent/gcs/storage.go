// Package storage stands for Google Cloud Storage, in which this server archives nothing.
package storage

import (
	"context"
	"errors"

	"google.golang.org/api/option"
)

// ScopeFullControl is not granted.
const ScopeFullControl = ""

var errAbsent = errors.New("this server does not archive in Google Cloud Storage: use a Temporal cluster for that")

// Client is never made.
type Client struct{}

// NewClient refuses.
func NewClient(context.Context, ...option.ClientOption) (*Client, error) { return nil, errAbsent }

// Bucket names a bucket.
func (*Client) Bucket(string) *BucketHandle { return &BucketHandle{} }

// BucketHandle is a bucket that does not exist.
type BucketHandle struct{}

// BucketAttrs describes a bucket.
type BucketAttrs struct{}

// Attrs refuses.
func (*BucketHandle) Attrs(context.Context) (*BucketAttrs, error) { return nil, errAbsent }

// Object names an object.
func (*BucketHandle) Object(string) *ObjectHandle { return &ObjectHandle{} }

// Objects lists none.
func (*BucketHandle) Objects(context.Context, *Query) *ObjectIterator { return &ObjectIterator{} }

// Query selects objects.
type Query struct{ Prefix string }

// ObjectIterator is empty.
type ObjectIterator struct{}

// Next refuses.
func (*ObjectIterator) Next() (*ObjectAttrs, error) { return nil, errAbsent }

// ObjectHandle is an object that does not exist.
type ObjectHandle struct{}

// ObjectAttrs describes an object.
type ObjectAttrs struct{ Name string }

// Attrs refuses.
func (*ObjectHandle) Attrs(context.Context) (*ObjectAttrs, error) { return nil, errAbsent }

// NewWriter returns a writer that refuses.
func (*ObjectHandle) NewWriter(context.Context) *Writer { return &Writer{} }

// NewReader refuses.
func (*ObjectHandle) NewReader(context.Context) (*Reader, error) { return nil, errAbsent }

// Writer refuses what is written.
type Writer struct{}

// Write refuses.
func (*Writer) Write([]byte) (int, error) { return 0, errAbsent }

// Close refuses.
func (*Writer) Close() error { return errAbsent }

// CloseWithError has nothing to cancel.
func (*Writer) CloseWithError(error) error { return nil }

// Reader reads nothing.
type Reader struct{}

// Read refuses.
func (*Reader) Read([]byte) (int, error) { return 0, errAbsent }

// Close has nothing to close.
func (*Reader) Close() error { return nil }
