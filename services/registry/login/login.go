// Package login says how users log in at sources that want a login of each user, and gets their tokens.
package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/usertoken"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/kinds"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Tokens has the tokens of users; *usertoken.Client is one.
type Tokens interface {
	// Token returns a user's token, or a fault.
	Token(ctx context.Context, w usertoken.Want) (usertoken.Token, error)
	// Refused says that the source refused a token.
	Refused(w usertoken.Want, t usertoken.Token)
	// Insufficient says that the source refused a token for its scopes, and which ones it wants. It returns nil if the next token is another,
	// and otherwise the fault of the call.
	Insufficient(ctx context.Context, w usertoken.Want, t usertoken.Token, scopes []string) error
}

// ServerURL is the URL of an MCP server, which may say itself how users log in; empty for other sources.
func ServerURL(s store.Source) string {
	if !kinds.Facts(s.Kind).Bridge {
		return ""
	}
	return s.Spec.URL
}

// Target is a digest of where tokens are sent and how they are issued: who can change that must not get tokens that users consented to
// before.
func Target(s store.Source) string {
	a := credential.Auth{}
	if s.Spec.Auth != nil {
		a = *s.Spec.Auth
	}
	text, err := json.Marshal([]any{
		s.Kind, source.Home(s.Spec), ServerURL(s), a.AuthorizationURL, a.TokenURL, a.RevocationURL, a.Issuer, a.ClientID, a.Resource, a.Audience,
	})
	if err != nil {
		return "" // strings always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Want says whose token a call to a source needs.
func Want(s store.Source, subject string) usertoken.Want {
	return usertoken.Want{Tenant: s.Tenant, Subject: subject, SourceID: s.ID, Source: s.Name, Target: Target(s)}
}

// Nobody is the fault of a source whose tools are to be listed while it is not known with whose login.
func Nobody(s store.Source) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
		"source %q wants a login, and it is not known whose login lists its tools", s.Name).
		Hint("Connect it, and sync it once: windlass connection create %[1]s, then windlass source sync %[1]s.", s.Name)
}

// Useless is the fault of a call that the source refused although the user's token was just issued.
func Useless(s store.Source) *fault.Error {
	return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION,
		"source %q refuses the login of the user", s.Name).
		Hint("See that the scopes and the resource in its auth are right, then connect it again: windlass connection create %s.", s.Name)
}
