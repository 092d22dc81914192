package upstream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/grpcapi"
	"github.com/windlass-dev/windlass/services/registry/grpccall"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// reflectEvery is how often the descriptors of a gRPC server are read by reflection, which takes a request per file. In between the server
// is only asked for the names of its services, to find out whether it is there.
const reflectEvery = 5 * time.Minute

// discoverGRPC reads the descriptors of a gRPC server, if they are others than those of the source's tools.
func (u *Upstream) discoverGRPC(ctx context.Context, s store.Source) (store.Inventory, error) {
	if s.Document != "" {
		set, err := base64.StdEncoding.DecodeString(s.Document)
		if err != nil {
			return store.Inventory{}, fault.Internal(fmt.Errorf("decode the descriptor set of source %q: %w", s.Name, err))
		}
		return u.inventory(ctx, s, set, "", nil)
	}
	known, ok := u.apis.known(s)
	recent := ok && time.Since(known.read) < reflectEvery
	set, skipped, err := u.apis.reflect(ctx, s, recent)
	if err != nil {
		return store.Inventory{}, unreachable(s, err)
	}
	if recent {
		u.breakers.reached(s.ID)
		return store.Inventory{Unchanged: true}, nil
	}
	return u.inventory(ctx, s, set, "", skipped)
}

// reflect asks a server for its descriptors, or, if they are recent, whether it is there.
func (a *apis) reflect(ctx context.Context, s store.Source, recent bool) (set []byte, skipped []string, err error) {
	server, wrong := grpccall.ParseURL(s.Spec.URL)
	if wrong != "" {
		return nil, nil, fault.Invalid("source.url", "%s", wrong)
	}
	credentials, err := a.credentials.For(syncOwner(s, as{}))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.DiscoverTimeout)
	defer cancel()
	md, _, err := grpccall.Metadata(ctx, credentials.Authorize)
	if err != nil {
		return nil, nil, err
	}
	conn, release, err := a.egress.GRPCConn(server.Address, server.Secure)
	if err != nil {
		return nil, nil, fault.Internal(err)
	}
	defer release()
	ctx = metadata.NewOutgoingContext(ctx, md)
	if recent {
		err = grpcapi.Ping(ctx, conn, a.cfg.Documents.MaxBytes)
	} else {
		set, skipped, err = grpcapi.Reflect(ctx, conn, a.cfg.Documents.MaxBytes)
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
	return nil, nil, fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the services of source %q cannot be read: %s", s.Name,
		truncate.Bytes(credentials.Hide(text), 500))
}

// readGRPC makes tools of descriptors.
func (a *apis) readGRPC(ctx context.Context, s store.Source, set []byte) (store.Inventory, error) {
	o := grpcapi.Options{MaxBytes: a.cfg.Documents.MaxBytes, MaxOperations: a.cfg.Documents.MaxOperations}
	if f := s.Spec.Operations; f != nil {
		o.Tags, o.Paths, o.Names = f.Tags, f.Paths, f.Names
	}
	api, err := grpcapi.Read(ctx, set, o)
	if err != nil {
		return store.Inventory{}, fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q: %s", s.Name, err)
	}
	inv := store.Inventory{ProtocolVersion: "gRPC", Warnings: api.Skipped}
	for _, t := range api.Tools {
		raw, err := json.Marshal(t)
		if err != nil {
			return store.Inventory{}, fault.Internal(err)
		}
		inv.Tools = append(inv.Tools, store.Found{
			OriginalName: t.Name, Description: noNUL(t.Description), Raw: raw, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
			Tags: t.Tags, Deprecated: t.Deprecated, Effect: t.Effect,
		})
	}
	return inv, nil
}

// codec returns how the messages of a definition are written and read.
func (a *apis) codec(ctx context.Context, tenant, hash string) (*grpccall.Codec, error) {
	key := tenant + "/" + hash
	if c, ok := a.codecs.Get(key); ok {
		return c, nil
	}
	raw, err := a.definition(ctx, tenant, hash)
	if err != nil {
		return nil, err
	}
	var stored struct {
		Method *grpccall.Method `json:"grpc"`
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, fmt.Errorf("decode definition %s: %w", hash, err)
	}
	if stored.Method == nil {
		return nil, fmt.Errorf("definition %s says no method", hash)
	}
	c, err := stored.Method.Codec()
	if err != nil {
		return nil, fmt.Errorf("definition %s: %w", hash, err)
	}
	a.codecs.Add(key, c)
	return c, nil
}

// callGRPC sends one call. A call that may be repeated is sent once more if the server refuses its access token.
func (u *Upstream) callGRPC(ctx context.Context, r Request, given providerdata.Data) (Reply, error) {
	codec, err := u.apis.codec(ctx, r.Source.Tenant, r.Definition)
	if err != nil {
		return Reply{}, &Error{Kind: NotSent, Fault: fault.From(err)}
	}
	server, wrong := grpccall.ParseURL(r.Source.Spec.URL)
	if wrong != "" {
		return Reply{}, &Error{Kind: NotSent, Fault: fault.Invalid("source.url", "%s", wrong)}
	}
	ctx, cancel := context.WithTimeout(ctx, u.CallTimeout(r.Source))
	defer cancel()
	add, hide := provided(r.Source, given)
	for retried := false; ; retried = true {
		set, err := u.apis.credentials.For(ownerAs(r.Source, r.as))
		if err != nil {
			return Reply{}, &Error{Kind: NotSent, Fault: fault.From(err)}
		}
		refused := false
		call := grpccall.Call{
			Source: r.Source.Name, Server: server, Codec: codec, Args: r.Arguments, Repeatable: r.Effect.Repeatable(),
			Reads: r.Effect == store.Read, MaxBytes: int(u.cfg.MaxResponseBytes),
			Hide: func(text string) string { return hide(set.Hide(text)) },
			Authorize: func(out *http.Request) error {
				if err := set.Authorize(out); err != nil {
					return err
				}
				return add(out)
			},
			Refused: func(sent *http.Request) { refused = set.Refused(sent) || r.as.subject != "" },
		}
		if r.Effect != store.Read {
			call.Key, call.KeyName = r.Meta["windlass/idempotency_key"], r.Source.Spec.KeyHeader
		}
		result, err := grpccall.Send(ctx, u.apis.egress, call)
		switch {
		case err == nil && refused && r.as.subject != "" && call.Repeatable:
			return Reply{}, errRefused
		case err == nil && refused && r.as.subject == "" && !retried && call.Repeatable:
			continue
		}
		return replied(result, err)
	}
}
