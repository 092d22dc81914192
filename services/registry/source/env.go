package source

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Limits bound the work for a source.
type Limits struct {
	// DiscoverTimeout bounds one sync, and DefaultTimeout one call of a source that does not set a timeout.
	DiscoverTimeout, DefaultTimeout time.Duration
	// MaxResponseBytes limits the response of an API, MaxDocumentBytes what describes one, and MaxOperations the tools that are made of that.
	MaxResponseBytes, MaxDocumentBytes, MaxOperations int
}

// Env is what drivers share.
type Env struct {
	Limits
	// Egress sends requests.
	Egress Dialer
	// Credentials has the credentials of sources that the registry itself calls.
	Credentials *credential.Keeper
	// Sealer seals what the bridge gets; nil seals nothing.
	Sealer *providerdata.Sealer
	// Definitions has the definitions of tools.
	Definitions Definitions
}

// Dialer returns HTTP clients and calls gRPC servers; *egress.Egress is one.
type Dialer interface {
	Client(opts egress.Options) *http.Client
	CallGRPC(ctx context.Context, c egress.GRPCCall) (egress.GRPCAnswer, error)
	// GRPC opens connections to Temporal.
	GRPC(address string, secure bool, maxBytes int) (*grpc.ClientConn, error)
	GRPCConn(address string, secure bool) (conn grpc.ClientConnInterface, release func(), err error)
}

// Definitions reads stored definitions of tools.
type Definitions interface {
	// Definitions reads the existing ones of the given definitions.
	Definitions(ctx context.Context, tenant string, hashes []string) ([]store.Definition, error)
}

// CallTimeout returns the timeout of one call to a source.
func (e *Env) CallTimeout(s store.Source) time.Duration {
	if s.Spec.CallTimeout > 0 {
		return time.Duration(s.Spec.CallTimeout) * time.Second
	}
	return e.DefaultTimeout
}

// Owner says whose credentials a source has, with the token of a user.
func Owner(s store.Source, as User) credential.Owner {
	return credential.Owner{
		Tenant: s.Tenant, ID: s.Tenant + "/" + s.ID, Version: strconv.FormatUint(uint64(s.Revision), 10),
		Title: fmt.Sprintf("source %q", s.Name), Path: "source",
		Headers: s.Spec.Headers, Auth: s.Spec.Auth, UserToken: as.Token.Value.Reveal(),
	}
}

// SyncOwner says whose credentials a sync has: those of a user if it has a login, and otherwise none of a user. Only syncs may use it: a
// call for a user must not fall back to the mesh's own credential.
func SyncOwner(s store.Source, as User) credential.Owner {
	o := Owner(s, as)
	if as.Subject == "" && (s.Spec.UserLogin() || s.Spec.Exchange()) {
		o.Auth = s.Spec.SyncAuth
	}
	return o
}

// Home is the origin that the credentials of a source are for: that of its base URL, else that of its URL.
func Home(s store.Spec) string {
	if s.BaseURL != "" {
		return credential.Origin(s.BaseURL)
	}
	return credential.Origin(s.URL)
}

// Decoder decodes stored definitions, and keeps the last ones in memory. It is safe for concurrent use.
type Decoder[T any] struct {
	definitions Definitions
	decode      func(raw []byte) (T, error)
	kept        *lru.Cache[string, T] // by tenant and hash
}

// NewDecoder returns a Decoder that keeps size definitions, more than 0.
func NewDecoder[T any](definitions Definitions, size int, decode func(raw []byte) (T, error)) *Decoder[T] {
	kept, err := lru.New[string, T](size)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &Decoder[T]{definitions, decode, kept}
}

// Of returns a definition.
func (d *Decoder[T]) Of(ctx context.Context, tenant, hash string) (T, error) {
	key := tenant + "/" + hash
	have, ok := d.kept.Get(key)
	if ok {
		return have, nil
	}
	found, err := d.definitions.Definitions(ctx, tenant, []string{hash})
	if err != nil {
		return have, fmt.Errorf("read definition: %w", err)
	}
	if len(found) == 0 {
		return have, fmt.Errorf("definition %s is not stored", hash)
	}
	if have, err = d.decode(found[0].Raw); err != nil {
		return have, fmt.Errorf("decode definition %s: %w", hash, err)
	}
	d.kept.Add(key, have)
	return have, nil
}

// Version joins the name and version of a server.
func Version(name, version string) string {
	if name == "" || version == "" {
		return name + version
	}
	return name + " " + version
}
