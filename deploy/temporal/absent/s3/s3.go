// Package s3 stands for Amazon S3, in which this server archives nothing.
package s3

import (
	"context"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Calls, and their answers.
type (
	HeadBucketInput  struct{ Bucket *string }
	HeadBucketOutput struct{}
	HeadObjectInput  struct{ Bucket, Key *string }
	HeadObjectOutput struct{}
	PutObjectInput   struct {
		Bucket, Key *string
		Body        io.Reader
	}
	PutObjectOutput    struct{}
	GetObjectInput     struct{ Bucket, Key *string }
	GetObjectOutput    struct{ Body io.ReadCloser }
	ListObjectsV2Input struct {
		Bucket, Prefix, Delimiter, ContinuationToken *string
		MaxKeys                                      *int32
	}
	ListObjectsV2Output struct {
		CommonPrefixes        []types.CommonPrefix
		Contents              []types.Object
		IsTruncated           *bool
		NextContinuationToken *string
	}
)

// Options configure a client.
type Options struct {
	BaseEndpoint *string
	UsePathStyle bool
}

type option = func(*Options)

// Client refuses every call.
type Client struct{}

// NewFromConfig returns it.
func NewFromConfig(aws.Config, ...option) *Client { return &Client{} }

// HeadBucket refuses.
func (*Client) HeadBucket(context.Context, *HeadBucketInput, ...option) (*HeadBucketOutput, error) {
	return nil, aws.ErrAbsent
}

// HeadObject refuses.
func (*Client) HeadObject(context.Context, *HeadObjectInput, ...option) (*HeadObjectOutput, error) {
	return nil, aws.ErrAbsent
}

// PutObject refuses.
func (*Client) PutObject(context.Context, *PutObjectInput, ...option) (*PutObjectOutput, error) {
	return nil, aws.ErrAbsent
}

// GetObject refuses.
func (*Client) GetObject(context.Context, *GetObjectInput, ...option) (*GetObjectOutput, error) {
	return nil, aws.ErrAbsent
}

// ListObjectsV2 refuses.
func (*Client) ListObjectsV2(context.Context, *ListObjectsV2Input, ...option) (*ListObjectsV2Output, error) {
	return nil, aws.ErrAbsent
}
