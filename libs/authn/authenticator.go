package authn

import (
	"context"
	"net"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/peercred"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Credentials are what a call from outside the mesh presents.
type Credentials struct {
	// Authorization holds the values of the call's Authorization header or metadata.
	Authorization []string
	// Resource is the URL of the part of the mesh that is called (RFC 8707), an audience that tokens may have besides those of the mesh as a
	// whole. Empty: none.
	Resource string
	// Peer describes the connection.
	Peer Peer
}

// Peer describes the connection of a call.
type Peer struct {
	// Remote and Local are the ends of the connection. Remote is nil if it is not known.
	Remote, Local net.Addr
	// User says whose process is at the other end.
	User peercred.Peer
	// Host is the host that the caller addressed, with or without a port.
	Host string
	// Forwarded reports that a proxy says it passed the call on, so that Remote is the proxy's.
	Forwarded bool
}

// ProxyHeaders are the headers by which a proxy says that it passed a call on.
var ProxyHeaders = []string{"forwarded", "via", "x-forwarded-for", "x-real-ip"}

// TokenVerifier verifies the bearer tokens of one kind.
type TokenVerifier interface {
	// Recognizes reports whether a token is of this kind, by its form. A token is verified by the first verifier that recognizes it and by no
	// other.
	Recognizes(token string) bool
	// Verify returns the principal of a token for a call of a resource, see Credentials. The principal is shared: callers do not modify it. It
	// returns ErrToken if the token is refused, and a *ScopeError if it is valid but lacks scopes; another error means that it cannot be
	// verified now.
	Verify(ctx context.Context, token, resource string) (*policyv1.Principal, error)
}

// PeerVerifier identifies callers without a token by their connection.
type PeerVerifier interface {
	// Identify returns the caller's principal, or nil if the connection does not identify the caller.
	Identify(ctx context.Context, peer Peer) *policyv1.Principal
}

// Authenticator determines the principal of calls from outside the mesh: at the gateway and at the gRPC port of every server. Calls between
// roles present a mesh token instead; see Keyring. It is safe for concurrent use. A nil Authenticator refuses all calls.
type Authenticator struct {
	tokens []TokenVerifier
	peers  []PeerVerifier
}

// NewAuthenticator returns an authenticator that tries the verifiers in the given order.
func NewAuthenticator(tokens []TokenVerifier, peers []PeerVerifier) *Authenticator {
	return &Authenticator{tokens: tokens, peers: peers}
}

// Authenticate returns the principal of a call. A call that presents a token is not identified by its connection, whatever is wrong with
// the token, unless it has the form of no token at all: many programs must be given a key, and send what they were given. The errors do not
// say why a token is refused; their causes do.
func (a *Authenticator) Authenticate(ctx context.Context, c Credentials) (*policyv1.Principal, error) {
	if len(c.Authorization) > 0 {
		return a.bearer(ctx, c)
	}
	if p := a.peer(ctx, c.Peer); p != nil {
		return p, nil
	}
	return nil, fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "the call carries no credentials").
		Hint("Send a token as \"Authorization: Bearer TOKEN\": that of a configured issuer, or the one in access.token of the data " +
			"directory. Where identity.loopback allows it, programs of the user that Windlass runs as need none on its machine.")
}

func (a *Authenticator) bearer(ctx context.Context, c Credentials) (*policyv1.Principal, error) {
	token, err := bearerToken(c.Authorization)
	if err != nil {
		return nil, refused(err)
	}
	if a != nil {
		for _, v := range a.tokens {
			if !v.Recognizes(token) {
				continue
			}
			p, err := v.Verify(ctx, token, c.Resource)
			if err != nil {
				return nil, refused(err)
			}
			return p, nil
		}
	}
	if madeUp(token) {
		if p := a.peer(ctx, c.Peer); p != nil {
			return p, nil
		}
	}
	return nil, refused(tokenError("no verifier recognizes it"))
}

// madeUp reports whether a token that no verifier recognizes may be a key for the sake of a program, such as "dummy" or "sk-local": one
// word, which no JWT is, not even one of another issuer or a damaged one.
func madeUp(token string) bool {
	return len(token) <= maxMadeUp && strings.IndexFunc(token, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	}) < 0
}

// peer returns the principal of a connection, nil if it does not identify the caller.
func (a *Authenticator) peer(ctx context.Context, from Peer) *policyv1.Principal {
	if a == nil {
		return nil
	}
	for _, v := range a.peers {
		if p := v.Identify(ctx, from); p != nil {
			return p
		}
	}
	return nil
}

// maxMadeUp bounds a made-up key in bytes.
const maxMadeUp = 200

// maxBearer bounds a token in bytes. Tokens with many groups take a few KiB.
const maxBearer = 16 << 10

// bearerToken returns the token of an Authorization header. Several headers are refused: another server might read another one of them.
func bearerToken(values []string) (string, error) {
	if len(values) != 1 {
		return "", tokenError("there are several Authorization headers")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return "", tokenError("the scheme of the Authorization header is not Bearer")
	case token == "" || len(token) > maxBearer:
		return "", tokenError("the token is empty or too long")
	}
	return token, nil
}
