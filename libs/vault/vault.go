// Package vault reads stored secrets from the policy service, for roles that send them to sources and providers.
package vault

import (
	"context"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/secret"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const (
	// MaxAge is how long a value is used before it is read again.
	MaxAge = 15 * time.Second
	// maxStale is how much longer it is used while policy is unavailable.
	maxStale = 5 * time.Minute
	// timeout bounds one request.
	timeout = 5 * time.Second
	// entries is how many values are kept.
	entries = 1024
)

// Client reads secrets, and keeps them in memory for a short time. It is safe for concurrent use.
type Client struct {
	policy policyv1.SecretServiceClient
	kept   *lru.Cache[key, entry]
	flight singleflight.Group
	now    func() time.Time
}

type key struct{ tenant, name string }

type entry struct {
	value secret.Value
	read  time.Time
}

// New returns a Client. The connection must be made as the process's own role.
func New(policy policyv1.SecretServiceClient) *Client {
	kept, err := lru.New[key, entry](entries)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &Client{policy: policy, kept: kept, now: time.Now}
}

// Secret returns the value of a tenant's secret. Its error has the code NotFound if there is none, and Unavailable if policy cannot be
// asked and there is no usable value. It takes no context, since others wait for the same answer.
func (c *Client) Secret(tenant, name string) (secret.Value, error) {
	k := key{tenant, name}
	have, ok := c.kept.Get(k)
	if ok && c.now().Sub(have.read) < MaxAge {
		return have.value, nil
	}
	got, err, _ := c.flight.Do(fmt.Sprintf("%q %q", tenant, name), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		resp, err := c.policy.ResolveSecret(ctx, &policyv1.ResolveSecretRequest{Tenant: tenant, Name: name})
		if err != nil {
			return nil, err // its code counts
		}
		e := entry{secret.New(resp.GetValue()), c.now()}
		c.kept.Add(k, e)
		return e, nil
	})
	switch {
	case err == nil:
		e, isEntry := got.(entry)
		if !isEntry {
			return secret.Value{}, errors.New("vault: foreign value in the singleflight group")
		}
		return e.value, nil
	case passing(err) && ok && c.now().Sub(have.read) < MaxAge+maxStale:
		return have.value, nil
	case !passing(err):
		c.kept.Remove(k)
	}
	return secret.Value{}, err // its code counts
}

// passing reports whether an error is not about the secret.
func passing(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted, codes.Aborted:
		return true
	default:
		return false
	}
}
