package grpcapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/document"
	"github.com/windlass-dev/windlass/services/registry/grpccall"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// reflectEvery is how often the descriptors of a gRPC server are read by reflection, which takes a request per file. In between the server
// is only asked for the names of its services, to find out whether it is there.
const reflectEvery = 5 * time.Minute

// codecsKept limits the methods in memory, whose descriptors may be large.
const codecsKept = 512

// Kind is a gRPC server.
type Kind struct{}

// Facts implements source.Kind.
func (Kind) Facts() source.Facts {
	return source.Facts{
		Name: "grpc", Auth: source.ServerAuth, Headers: true,
		Fields: []string{"key_header", "descriptor_set"},
	}
}

// Validate implements source.Kind.
func (Kind) Validate(s store.Source, bad source.Bad) {
	source.NoServer(s, bad)
	if s.Spec.BaseURL != "" || len(s.Spec.Endpoints) > 0 {
		bad("source.url", "a source of kind grpc has a url, and no base_url or endpoints")
	}
	if _, wrong := grpccall.ParseURL(s.Spec.URL); wrong != "" {
		bad("source.url", wrong)
	}
	if _, err := base64.StdEncoding.DecodeString(s.Document); err != nil {
		bad("source.document", "a source of kind grpc has a descriptor_set, and no document")
	}
	named := func(field, name string) {
		if message := wrongMetadata(name); message != "" {
			bad(field, message)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Headers)) {
		named("source.headers."+name, name)
	}
	if d := s.Spec.ProviderData; d != nil {
		for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
			named("source.provider_data.headers."+name, name)
		}
	}
	if s.Spec.KeyHeader != "" {
		named("source.key_header", s.Spec.KeyHeader)
	}
	if a := s.Spec.Auth; a != nil && a.Kind == credential.APIKey {
		if a.In == "query" {
			bad("source.auth.in", "a gRPC call has no query; use header")
		} else {
			named("source.auth.name", a.Name)
		}
	}
	if a := s.Spec.SyncAuth; a != nil && a.Kind == credential.APIKey && (a.In == "query" || wrongMetadata(a.Name) != "") {
		bad("source.sync_auth.name", "a gRPC call takes the key in metadata: use header")
	}
}

// wrongMetadata says what is wrong with the name of metadata; empty if nothing is.
func wrongMetadata(name string) string {
	lower := strings.ToLower(name)
	switch {
	case strings.HasPrefix(lower, "grpc-"), slices.Contains([]string{"host", "content-type", "te", "user-agent", "connection"}, lower):
		return "gRPC itself sets this metadata"
	case strings.HasSuffix(lower, "-bin"):
		return "binary metadata (-bin) is not supported"
	case lower == "" || strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "":
		return "names of metadata have letters, digits, -, _ and . only"
	}
	return ""
}

// driver reads descriptors and calls their methods.
type driver struct {
	*document.Keeper
	codecs *source.Decoder[*grpccall.Codec]
}

// Open returns the driver of the kind.
func Open(documents *document.Keeper) source.Driver {
	return driver{documents, source.NewDecoder(documents.Definitions, codecsKept, codec)}
}

func (d driver) Discover(ctx context.Context, s store.Source, as source.User) (store.Inventory, error) {
	set, err := base64.StdEncoding.DecodeString(s.Document)
	if err != nil {
		return store.Inventory{}, fault.Internal(fmt.Errorf("decode the descriptor set of source %q: %w", s.Name, err))
	}
	var skipped []string
	if s.Document == "" {
		_, read, ok := d.Known(s)
		recent := ok && time.Since(read) < reflectEvery
		if set, skipped, err = d.reflect(ctx, s, as, recent); err != nil || recent {
			return store.Inventory{Unchanged: err == nil}, err
		}
	}
	return d.Inventory(ctx, s, set, "", skipped, func() (store.Inventory, error) { return d.read(ctx, s, set) })
}

// reflect asks a server for its descriptors, or, if they are recent, whether it is there.
func (d driver) reflect(ctx context.Context, s store.Source, as source.User, recent bool) (set []byte, skipped []string, err error) {
	server, wrong := grpccall.ParseURL(s.Spec.URL)
	if wrong != "" {
		return nil, nil, fault.Invalid("source.url", "%s", wrong)
	}
	credentials, err := d.Credentials.For(source.SyncOwner(s, as))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.DiscoverTimeout)
	defer cancel()
	md, _, err := grpccall.Metadata(ctx, credentials.Authorize)
	if err != nil {
		return nil, nil, err
	}
	conn, release, err := d.Egress.GRPCConn(server.Address, server.Secure)
	if err != nil {
		return nil, nil, fault.Internal(err)
	}
	defer release()
	ctx = metadata.NewOutgoingContext(ctx, md)
	if recent {
		err = Ping(ctx, conn, d.MaxDocumentBytes)
	} else {
		set, skipped, err = Reflect(ctx, conn, d.MaxDocumentBytes)
	}
	switch {
	case err == nil:
		return set, skipped, nil
	case errors.Is(err, egress.ErrDenied):
		return nil, nil, fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_EGRESS_DENIED, "source %q: %s", s.Name, err).Cause(err)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, nil, fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q did not answer in time", s.Name).Cause(err)
	}
	text := err.Error()
	if st, ok := status.FromError(err); ok && st.Code() == codes.Unavailable {
		text = st.Message()
	}
	f := fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the services of source %q cannot be read: %s", s.Name,
		truncate.Bytes(credentials.Hide(text), 500))
	if grpccall.Answered(err) {
		f = source.Invalid(f)
	}
	return nil, nil, f
}

// read makes tools of descriptors.
func (d driver) read(ctx context.Context, s store.Source, set []byte) (store.Inventory, error) {
	o := Options{MaxBytes: d.MaxDocumentBytes, MaxOperations: d.MaxOperations}
	if f := s.Spec.Operations; f != nil {
		o.Tags, o.Paths, o.Names = f.Tags, f.Paths, f.Names
	}
	api, err := Read(ctx, set, o)
	if err != nil {
		return store.Inventory{}, source.Invalid(fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q: %s", s.Name, err))
	}
	inv := store.Inventory{ProtocolVersion: "gRPC", Warnings: api.Skipped}
	for _, t := range api.Tools {
		raw, err := json.Marshal(t)
		if err != nil {
			return store.Inventory{}, fault.Internal(err)
		}
		inv.Tools = append(inv.Tools, store.Found{
			OriginalName: t.Name, Description: t.Description, Raw: raw, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
			Tags: t.Tags, Deprecated: t.Deprecated, Effect: t.Effect,
		})
	}
	return inv, nil
}

// codec returns how the messages of a definition are written and read.
func codec(raw []byte) (*grpccall.Codec, error) {
	var stored struct {
		Method *grpccall.Method `json:"grpc"`
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, err
	}
	if stored.Method == nil {
		return nil, errors.New("it says no method")
	}
	return stored.Method.Codec()
}

// Call implements source.Driver. A call that may be repeated is sent once more if the server refuses its access token.
func (d driver) Call(ctx context.Context, r *source.Request, _ func(source.Notice)) (source.Reply, error) {
	codec, err := d.codecs.Of(ctx, r.Source.Tenant, r.Definition)
	if err != nil {
		return source.Reply{}, source.Unsent(err)
	}
	server, wrong := grpccall.ParseURL(r.Source.Spec.URL)
	if wrong != "" {
		return source.Reply{}, source.Unsent(fault.Invalid("source.url", "%s", wrong))
	}
	ctx, cancel := context.WithTimeout(ctx, d.CallTimeout(r.Source))
	defer cancel()
	for retried := false; ; retried = true {
		access, err := d.Access(r)
		if err != nil {
			return source.Reply{}, err
		}
		refused := false
		call := grpccall.Call{
			Source: r.Source.Name, Server: server, Codec: codec, Args: r.Arguments, Repeatable: r.Effect.Repeatable(),
			Reads: r.Effect == store.Read, MaxBytes: d.MaxResponseBytes, Hide: access.Hide, Authorize: access.Authorize,
			Refused: func(sent *http.Request) { refused = access.Refused(sent) },
		}
		if r.Effect != store.Read {
			call.Key, call.KeyName = r.Key(), r.Source.Spec.KeyHeader
		}
		result, err := grpccall.Send(ctx, d.Egress, call)
		switch {
		case err == nil && refused && r.As.Subject != "" && call.Repeatable:
			return source.Reply{}, source.ErrRefused
		case err == nil && refused && r.As.Subject == "" && !retried && call.Repeatable:
			continue
		}
		return source.Reply{Result: result}, err
	}
}
