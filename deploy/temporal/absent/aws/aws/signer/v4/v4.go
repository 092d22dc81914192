// Package v4 signs nothing.
package v4

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Signer signs nothing.
type Signer struct{}

// NewSigner returns it.
func NewSigner() *Signer { return &Signer{} }

// SignHTTP refuses.
func (*Signer) SignHTTP(context.Context, aws.Credentials, *http.Request, string, string, string, time.Time) error {
	return aws.ErrAbsent
}
