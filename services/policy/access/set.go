package access

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/store"
)

const (
	// principalsKept limits the principals of a set whose policies are remembered.
	principalsKept = 4096
	// Bounds of claims. A principal with larger ones is denied everything, so that no policy that denies can be evaded.
	maxClaimDepth = 16
	maxClaims     = 4096
	maxClaimBytes = 64 << 10
)

// Set is all policies of a tenant at a revision. It never changes and is safe for concurrent use.
type Set struct {
	// Revision identifies the set.
	Revision uint64

	policies []*Policy // by priority
	applied  *lru.Cache[string, *Applied]
}

// NewSet compiles the policies of a tenant, except those that an earlier set has compiled; it may be nil.
func NewSet(s store.Snapshot, earlier *Set) (*Set, error) {
	known := map[uint64]*Policy{}
	if earlier != nil {
		for _, p := range earlier.policies {
			known[p.version] = p
		}
	}
	policies := make([]*Policy, len(s.Policies))
	for i, p := range s.Policies {
		if policies[i] = known[p.PolicyRevision]; policies[i] == nil {
			policies[i] = stored(p)
		}
	}
	return newSet(s.Revision, policies)
}

// Compiled returns what the regular expressions of all policies are compiled to.
func (s *Set) Compiled() (size int) {
	for _, p := range s.policies {
		size += p.size
	}
	return size
}

// Groups returns the tool groups that policies name.
func (s *Set) Groups() []string {
	var out []string
	for _, p := range s.policies {
		out = append(out, p.Spec.ToolGroups...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func newSet(revision uint64, policies []*Policy) (*Set, error) {
	slices.SortFunc(policies, func(a, b *Policy) int {
		return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), cmp.Compare(a.Name, b.Name))
	})
	applied, err := lru.New[string, *Applied](principalsKept)
	if err != nil {
		return nil, fmt.Errorf("make cache of principals: %w", err)
	}
	return &Set{Revision: revision, policies: policies, applied: applied}, nil
}

// With returns the set with a policy added, or in place of the one with its name.
func (s *Set) With(p *Policy) (*Set, error) {
	return newSet(s.Revision, append(s.others(p.Name), p))
}

// Without returns the set without a policy.
func (s *Set) Without(name string) (*Set, error) { return newSet(s.Revision, s.others(name)) }

// Has reports whether there is a policy with this name.
func (s *Set) Has(name string) bool {
	return slices.ContainsFunc(s.policies, func(p *Policy) bool { return p.Name == name })
}

func (s *Set) others(name string) []*Policy {
	return slices.DeleteFunc(slices.Clone(s.policies), func(p *Policy) bool { return p.Name == name })
}

// Input is a principal as policies see it.
type Input struct {
	// Principal has no claims that differ in each token.
	Principal *policyv1.Principal
	// Hash identifies it, in hex; Encoded is what it is the hash of.
	Hash    string
	Encoded []byte
}

// NewInput reduces a principal to what policies see of it.
func NewInput(who *policyv1.Principal) (Input, error) {
	p := &policyv1.Principal{
		Tenant: who.GetTenant(), Subject: who.GetSubject(), Kind: who.GetKind(), Roles: who.GetRoles(), Claims: lasting(who.GetClaims()),
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		return Input{}, fmt.Errorf("encode principal: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return Input{Principal: p, Hash: hex.EncodeToString(sum[:]), Encoded: encoded}, nil
}

// lasting returns the claims that stay the same in the user's next token.
func lasting(claims *structpb.Struct) *structpb.Struct {
	fields := claims.GetFields()
	if !slices.ContainsFunc(perToken, func(name string) bool { return fields[name] != nil }) {
		return claims
	}
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(fields))}
	for name, v := range fields {
		if !slices.Contains(perToken, name) {
			out.Fields[name] = v
		}
	}
	return out
}

// For returns the policies that match a principal. Only users have any.
func (s *Set) For(in Input) *Applied {
	if known, ok := s.applied.Get(in.Hash); ok {
		return known
	}
	found := s.apply(in)
	s.applied.Add(in.Hash, found)
	return found
}

func (s *Set) apply(in Input) *Applied {
	a := &Applied{}
	if in.Principal.GetKind() != policyv1.PrincipalKind_PRINCIPAL_KIND_USER || len(s.policies) == 0 {
		return a
	}
	if why := tooLarge(in); why != "" {
		a.refused = why
		return a
	}
	for _, p := range s.policies {
		if !p.matches(in.Principal) {
			continue
		}
		if p.denies() {
			a.deny = append(a.deny, p)
		} else {
			a.allow = append(a.allow, p)
		}
		for _, g := range p.Spec.ToolGroups {
			if !slices.Contains(a.Groups, g) {
				a.Groups = append(a.Groups, g)
			}
		}
	}
	return a
}

// tooLarge returns why claims are not evaluated, "" if they are.
func tooLarge(in Input) string {
	if len(in.Encoded) > maxClaimBytes {
		return fmt.Sprintf("the claims have more than %d bytes", maxClaimBytes)
	}
	left := maxClaims
	if !within(structpb.NewStructValue(in.Principal.GetClaims()), maxClaimDepth, &left) {
		return fmt.Sprintf("the claims are nested more than %d deep, or are more than %d values", maxClaimDepth, maxClaims)
	}
	return ""
}

func within(v *structpb.Value, depth int, left *int) bool {
	*left--
	if depth < 0 || *left < 0 {
		return false
	}
	for _, f := range v.GetStructValue().GetFields() {
		if !within(f, depth-1, left) {
			return false
		}
	}
	for _, f := range v.GetListValue().GetValues() {
		if !within(f, depth-1, left) {
			return false
		}
	}
	return true
}
