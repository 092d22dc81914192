package providerdata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/seal"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Metadata is the gRPC metadata key that carries sealed provider data between processes of the mesh. Its suffix means binary.
const Metadata = "windlass-provider-data-bin"

// Scope is what sealed data is for: it cannot be opened for anything else.
type Scope string

// OfCaller is the scope of a request of a principal.
func OfCaller(p *policyv1.Principal) Scope {
	return Scope(fmt.Sprintf("provider data of %q in %q", p.GetSubject(), p.GetTenant()))
}

// OfTurn is the scope of a turn.
func OfTurn(tenant, turnID string) Scope {
	return Scope(fmt.Sprintf("provider data of turn %q in %q", turnID, tenant))
}

// OfServer is the scope of one call of an MCP server.
func OfServer(serverID string) Scope {
	return Scope(fmt.Sprintf("provider data for server %q", serverID))
}

// Sealed is sealed data with its scope. The zero value is no data.
type Sealed struct {
	Bytes []byte
	Scope Scope
}

// Sealer seals and opens provider data with a key that all processes of the mesh share. It is safe for concurrent use. The nil Sealer has
// no key: it refuses all data.
type Sealer struct{ box *seal.Box }

// NewSealer returns a Sealer. The key must have at least 32 bytes.
func NewSealer(key secret.Value) (*Sealer, error) {
	box, err := seal.New(key)
	if err != nil {
		return nil, fmt.Errorf("build the sealer of provider data: %w", err)
	}
	return &Sealer{box}, nil
}

// Seal seals data.
func (s *Sealer) Seal(d Data, scope Scope) ([]byte, error) {
	if s == nil {
		return nil, noKey()
	}
	text, err := json.Marshal(d.all())
	if err != nil {
		return nil, errors.New("encode provider data") // the cause would quote it
	}
	return s.box.Seal(secret.New(string(text)), string(scope)), nil
}

// Open opens sealed data; none is no data. The error is a fault.
func (s *Sealer) Open(sealed []byte, scope Scope) (Data, error) {
	if len(sealed) == 0 {
		return Data{}, nil
	}
	if s == nil {
		return Data{}, noKey()
	}
	text, err := s.box.Open(sealed, string(scope))
	if err != nil {
		return Data{}, fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION,
			"the provider data of the request (header %s) cannot be opened: %s", Header, err).
			Hint("All processes of the mesh need the same mesh.key. If it was changed while a turn ran, send the input again.")
	}
	values := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(text.Reveal()), &values) != nil {
		return Data{}, errors.New("sealed provider data is no JSON object")
	}
	return Data{&values}, nil
}

// Transfer seals data again for another scope; none stays none.
func (s *Sealer) Transfer(sealed []byte, from, to Scope) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	d, err := s.Open(sealed, from)
	if err != nil {
		return nil, err
	}
	return s.Seal(d, to)
}

func noKey() error {
	return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION, "provider data (header %s) is not accepted here",
		Header)
}

// Receive takes the provider data out of an HTTP request, and returns a context whose calls to the mesh carry it, sealed for the context's
// principal.
func (s *Sealer) Receive(ctx context.Context, h http.Header) (context.Context, error) {
	sealed, err := s.receive(ctx, httpHeaders(h))
	return With(ctx, sealed), err
}

// ReceiveCall takes the provider data out of the metadata of a call from outside the mesh, where it has the names of the headers, and puts
// it back sealed for the context's principal: Incoming then returns it. Sealed data from outside is dropped.
func (s *Sealer) ReceiveCall(ctx context.Context) (context.Context, error) {
	if !slices.ContainsFunc(names, func(name string) bool { return len(metadata.ValueFromIncomingContext(ctx, name)) > 0 }) {
		return ctx, nil
	}
	md, _ := metadata.FromIncomingContext(ctx) // a copy
	md.Delete(Metadata)
	sealed, err := s.receive(ctx, callHeaders(md))
	if len(sealed) > 0 {
		md.Set(Metadata, string(sealed))
	}
	return metadata.NewIncomingContext(ctx, md), err
}

// names are those of provider data in metadata.
var names = []string{Header, Alias, Metadata}

func (s *Sealer) receive(ctx context.Context, h headers) ([]byte, error) {
	d, ok, err := take(h)
	if err != nil || !ok {
		return nil, err
	}
	return s.Seal(d, OfCaller(authn.From(ctx)))
}

type key struct{}

// With returns a context whose calls to the mesh carry sealed data; libs/rpc sends it.
func With(ctx context.Context, sealed []byte) context.Context {
	if len(sealed) == 0 {
		return ctx
	}
	return context.WithValue(ctx, key{}, sealed)
}

// Outgoing returns the sealed data that calls with this context carry; nil for none.
func Outgoing(ctx context.Context) []byte {
	sealed, _ := ctx.Value(key{}).([]byte)
	return sealed
}

// Incoming returns the sealed data that came with the call of this handler; nil for none. It is not passed on by itself.
func Incoming(ctx context.Context) []byte {
	values := metadata.ValueFromIncomingContext(ctx, Metadata)
	if len(values) == 0 || values[0] == "" {
		return nil
	}
	return []byte(values[0])
}
