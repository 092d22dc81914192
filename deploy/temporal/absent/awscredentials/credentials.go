// Package credentials holds no credentials of AWS.
package credentials

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// StaticCredentialsProvider provides none.
type StaticCredentialsProvider struct{}

// NewStaticCredentialsProvider forgets what it gets.
func NewStaticCredentialsProvider(_, _, _ string) StaticCredentialsProvider {
	return StaticCredentialsProvider{}
}

// Retrieve refuses.
func (StaticCredentialsProvider) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{}, aws.ErrAbsent
}
