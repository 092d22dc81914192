// Package access decides which banks and documents a caller of the knowledge service may read. What they may not read does not exist for
// them.
package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Prefixes of the permissions to read a bank, and documents with a label. The bank's id and the label follow.
const (
	bankPermission  = "knowledge.bank."
	labelPermission = "knowledge.label."
)

// PermissionReader is the part of the policy service that lists permissions.
type PermissionReader interface {
	// GetPermissions returns the permissions that a principal holds.
	GetPermissions(ctx context.Context, in *policyv1.GetPermissionsRequest, opts ...grpc.CallOption) (*policyv1.GetPermissionsResponse, error)
}

// Scope is what a caller may read, as it was when the call began.
type Scope struct {
	// Tenant and Subject are the caller's.
	Tenant, Subject string
	permissions     authz.Permissions
}

// Bank reports whether the caller may read a bank: it has the permission, or it created the bank and no rule denies the permission.
func (s Scope) Bank(b store.Bank) bool {
	if b.Tenant != s.Tenant {
		return false
	}
	v := s.permissions.Decide(bankPermission + b.ID)
	return v.Allowed || v.DeniedBy == "" && b.Subject == s.Subject
}

// Label reports whether the caller may read documents with a label.
func (s Scope) Label(name string) bool { return s.permissions.Decide(labelPermission + name).Allowed }

// Document reports whether the caller may read a document of a bank that it may read.
func (s Scope) Document(d store.Document) bool {
	for _, name := range d.Labels {
		if !s.Label(name) {
			return false
		}
	}
	return true
}

// CheckLabels returns a fault unless the caller may read documents with all of these labels.
func (s Scope) CheckLabels(names []string) error {
	for _, name := range names {
		if v := s.permissions.Decide(labelPermission + name); !v.Allowed {
			return fault.Denied(labelPermission+name, v.DeniedBy)
		}
	}
	return nil
}

// Reader reads banks and documents for callers.
type Reader struct {
	store  *store.Store
	policy PermissionReader
}

// NewReader returns a Reader. policy is asked in each call, so that what it revokes holds at the next one.
func NewReader(s *store.Store, policy PermissionReader) Reader { return Reader{s, policy} }

// Scope returns what the caller may read.
func (r Reader) Scope(ctx context.Context) (Scope, error) {
	p := authn.From(ctx)
	resp, err := r.policy.GetPermissions(ctx, &policyv1.GetPermissionsRequest{Principal: p})
	if err != nil {
		return Scope{}, fmt.Errorf("permissions of %s: %w", p.GetSubject(), err)
	}
	return Scope{
		Tenant: p.GetTenant(), Subject: p.GetSubject(), permissions: authz.Parse(resp.GetPermissions(), resp.GetDeniedBy()),
	}, nil
}

// Bank returns a bank that the caller may read, and what it may read.
func (r Reader) Bank(ctx context.Context, id string) (store.Bank, Scope, error) {
	banks, scope, err := r.Banks(ctx, []string{id})
	if err == nil && len(banks) == 0 {
		err = NoBank(id)
	}
	if err != nil {
		return store.Bank{}, Scope{}, err
	}
	return banks[0], scope, nil
}

// Banks returns those of some banks that the caller may read, in their order, and what it may read.
func (r Reader) Banks(ctx context.Context, ids []string) ([]store.Bank, Scope, error) {
	scope, err := r.Scope(ctx)
	if err != nil {
		return nil, Scope{}, err
	}
	var out []store.Bank
	for _, id := range ids {
		if !storable(id) {
			continue
		}
		b, err := r.store.Bank(ctx, scope.Tenant, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, Scope{}, err
		}
		if err == nil && scope.Bank(b) {
			out = append(out, b)
		}
	}
	return out, scope, nil
}

// Document returns a document that the caller may read.
func (r Reader) Document(ctx context.Context, bank, id string) (store.Document, error) {
	b, scope, err := r.Bank(ctx, bank)
	if err != nil {
		return store.Document{}, err
	}
	if !storable(id) {
		return store.Document{}, NoDocument(id)
	}
	d, err := r.store.Document(ctx, b.Tenant, b.ID, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !scope.Document(d) {
		err = NoDocument(id)
	}
	if err != nil {
		return store.Document{}, err
	}
	return d, nil
}

// Documents returns those of some documents in some banks that the caller may read, by their ids.
func (r Reader) Documents(ctx context.Context, banks, ids []string) (map[string]store.Document, error) {
	slices.Sort(banks)
	readable, scope, err := r.Banks(ctx, slices.Compact(banks))
	if err != nil || len(readable) == 0 {
		return nil, err
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return !storable(id) })
	all, err := r.store.DocumentsOf(ctx, scope.Tenant, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]store.Document, len(all))
	for _, d := range all {
		if scope.Document(d) && slices.ContainsFunc(readable, func(b store.Bank) bool { return b.ID == d.Bank }) {
			out[d.ID] = d
		}
	}
	return out, nil
}

// Labels returns those labels of a bank's documents that the caller may read. Documents with other labels do not exist for it.
func (r Reader) Labels(ctx context.Context, b store.Bank, scope Scope) ([]string, error) {
	all, err := r.store.Labels(ctx, b.Tenant, b.ID)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range all {
		if scope.Label(name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// NoBank is the error about a bank that does not exist, or that the caller may not read.
func NoBank(id string) error { return fault.NotFound("bank %q does not exist", printable(id)) }

// NoDocument is the error about a document that does not exist, or that the caller may not read.
func NoDocument(id string) error { return fault.NotFound("document %q does not exist", printable(id)) }

// storable reports whether a text can be in the database. PostgreSQL cannot hold NUL.
func storable(text string) bool { return !strings.ContainsRune(text, 0) }

func printable(text string) string { return strings.ReplaceAll(text, "\x00", "") }
