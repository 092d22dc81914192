package bearer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/glob"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const (
	// maxClaims bounds the claims of a principal in bytes: they travel with every call.
	maxClaims = 8 << 10
	// maxSubject is the maximum length of a subject in OpenID Connect.
	maxSubject = 255
	maxRoles   = 256
)

// ownClaims describe the token, not the user. They would make the principals of two tokens of one user differ.
var ownClaims = []string{
	"aud", "exp", "iat", "nbf", "jti", "typ", "azp", "nonce", "at_hash", "c_hash", "s_hash", "auth_time", "sid", "session_state", "uti", "rh",
}

// mapper turns an issuer's claims into a principal.
type mapper struct {
	cfg                    Issuer
	subject, tenant, roles claimPath
}

func newMapper(c Issuer) (mapper, error) {
	m := mapper{cfg: c}
	var errs [3]error
	if c.SubjectClaim == "" {
		c.SubjectClaim = "sub"
	}
	m.subject, errs[0] = parsePath(c.SubjectClaim)
	m.tenant, errs[1] = parsePath(c.TenantClaim)
	m.roles, errs[2] = parsePath(c.RolesClaim)
	return m, errors.Join(errs[:]...)
}

// principal returns the principal of an access token whose signature and times are verified.
func (m mapper) principal(claims jwt.MapClaims) (*policyv1.Principal, error) {
	if err := isAccessToken(claims); err != nil {
		return nil, err
	}
	subject, err := m.subjectOf(claims)
	if err != nil {
		return nil, err
	}
	tenant, err := m.tenantOf(claims)
	if err != nil {
		return nil, err
	}
	roles, err := m.rolesOf(claims)
	if err != nil {
		return nil, err
	}
	kept, err := m.kept(claims)
	if err != nil {
		return nil, err
	}
	return &policyv1.Principal{
		Tenant: tenant, Subject: m.cfg.Name + ":" + subject, Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_USER,
		Roles: roles, Claims: kept, Issuer: m.cfg.Name,
	}, nil
}

// isAccessToken refuses ID tokens, which an issuer may sign with the same key and for the same audience, and tokens that only their owner
// may use, who proves it in ways that are not supported here.
func isAccessToken(claims jwt.MapClaims) error {
	typ, _ := claims["typ"].(string)
	for _, name := range []string{"at_hash", "c_hash", "s_hash", "events"} {
		if _, ok := claims[name]; ok {
			return fmt.Errorf("it is not an access token: it has the claim %s", name)
		}
	}
	// Keycloak says so itself, and once put the nonce of the login into access tokens too.
	if _, ok := claims["nonce"]; ok && !strings.EqualFold(typ, "Bearer") {
		return errors.New("it is not an access token: it has the claim nonce")
	}
	if use, ok := claims["token_use"]; ok && use != "access" {
		return errors.New("it is not an access token: token_use says so")
	}
	if typ != "" && !strings.EqualFold(typ, "Bearer") {
		return errors.New("it is not an access token: typ says so")
	}
	if _, ok := claims["cnf"]; ok {
		return errors.New("it is bound to a key of its owner (cnf), which is not supported")
	}
	return nil
}

func (m mapper) subjectOf(claims jwt.MapClaims) (string, error) {
	value, _ := m.subject.find(claims)
	s, _ := value.(string)
	if s == "" || len(s) > maxSubject || !printable(s) {
		return "", errors.New("its subject is missing, too long or no text")
	}
	return s, nil
}

func (m mapper) tenantOf(claims jwt.MapClaims) (string, error) {
	if m.tenant.isZero() {
		if m.cfg.Tenant != "" {
			return m.cfg.Tenant, nil
		}
		return authn.DefaultTenant, nil
	}
	value, _ := m.tenant.find(claims)
	t, _ := value.(string)
	if !authn.ValidTenant(t) {
		return "", errors.New("its tenant is missing or not usable")
	}
	if len(m.cfg.Tenants) > 0 && !slices.Contains(m.cfg.Tenants, t) {
		return "", errors.New("its issuer may not name its tenant")
	}
	return t, nil
}

// rolesOf returns the roles in order, without those of Local, which no issuer gives.
func (m mapper) rolesOf(claims jwt.MapClaims) ([]string, error) {
	value, ok := m.roles.find(claims)
	if !ok || value == nil {
		return nil, nil
	}
	var named []string
	switch v := value.(type) {
	case string:
		named = strings.Fields(v)
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				named = append(named, s)
			}
		}
	}
	var roles []string
	for _, role := range named {
		allowed := len(m.cfg.Roles) == 0 || glob.Any(m.cfg.Roles, role)
		if allowed && role != "" && len(role) <= maxSubject && printable(role) && !slices.Contains(authn.Local().GetRoles(), role) {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	roles = slices.Compact(roles)
	if len(roles) > maxRoles {
		return nil, fmt.Errorf("it has more than %d roles: choose some with identity.issuers[].roles", maxRoles)
	}
	return roles, nil
}

// scopesOf returns the scopes of a token: scope is a string in RFC 9068, scp a string or a list with some issuers.
func scopesOf(claims jwt.MapClaims) []string {
	var out []string
	for _, name := range []string{"scope", "scp"} {
		switch v := claims[name].(type) {
		case string:
			out = append(out, strings.Fields(v)...)
		case []any:
			for _, e := range v {
				if s, ok := e.(string); ok {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// kept returns the claims for policy rules.
func (m mapper) kept(claims jwt.MapClaims) (*structpb.Struct, error) {
	kept := maps.Clone(map[string]any(claims))
	maps.DeleteFunc(kept, func(name string, _ any) bool {
		return slices.Contains(ownClaims, name) || len(m.cfg.KeepClaims) > 0 && !slices.Contains(m.cfg.KeepClaims, name)
	})
	out := canon.Object(kept).Struct()
	if proto.Size(out) > maxClaims {
		return nil, fmt.Errorf("its claims take more than %d bytes: choose some with identity.issuers[].keep_claims", maxClaims)
	}
	return out, nil
}

// printable reports whether a name is text without control characters and invisible spaces around it.
func printable(s string) bool {
	return utf8.ValidString(s) && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
