package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/peercred"
	"github.com/windlass-dev/windlass/libs/telemetry"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// unary is the whole chain of a unary call within the process: recover, map errors, authenticate, authorize, set a deadline, validate,
// handle.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	call := ctx
	defer func() { err = s.finish(ctx, info.FullMethod, recover(), ended(call, err)) }()
	ctx, err = s.admit(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if err := s.validate(req); err != nil {
		return nil, err
	}
	ctx, flush := s.track(ctx, info.FullMethod)
	if resp, err = next(ctx, req); err == nil {
		err = flush()
	}
	if s.audited[info.FullMethod] {
		err = s.audit(ctx, info.FullMethod, req, resp, err)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// stream is the same chain for streams, which unary calls over the network are too; it validates each received message.
func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	ctx := requested(ss)
	defer func() { err = s.finish(ctx, info.FullMethod, recover(), ended(ss.Context(), err)) }()
	if ctx, err = s.admit(ctx, info.FullMethod); err != nil {
		return err
	}
	if grpcOwn(info.FullMethod) { // a health watcher must not delay our shutdown
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		release := context.AfterFunc(s.stopping, cancel)
		defer release()
	}
	if info.IsServerStream || info.IsClientStream { // unary calls end by themselves
		var release context.CancelFunc
		ctx, release = authn.Hold(ctx)
		defer release()
		if ctx, release, err = s.permitted.hold(ctx, info.FullMethod); err != nil {
			return err
		}
		defer release()
		held := ctx
		defer func() {
			if cause := fault.As(context.Cause(held)); cause != nil && err != nil {
				err = cause
			}
		}()
	}
	ctx, flush := s.track(ctx, info.FullMethod)
	out := &serverStream{ServerStream: ss, ctx: ctx, validate: s.validate, role: hasMeshToken(ctx)}
	out.sending = func(any) error { return flush() }
	if !s.audited[info.FullMethod] {
		return next(srv, out)
	}
	var req any
	done := false
	out.received = func(m any) { req = m }
	out.sending = func(m any) error {
		err := flush()
		if done {
			return err
		}
		done = true
		return s.audit(ctx, info.FullMethod, req, m, err)
	}
	if err = next(srv, out); err != nil && !done {
		return s.audit(ctx, info.FullMethod, req, nil, err)
	}
	return err
}

// requested returns the context of a call from outside the mesh with the id of the request, which the response has in its header.
func requested(ss grpc.ServerStream) context.Context {
	ctx := ss.Context()
	if _, direct := ss.(*serverSide); direct || hasMeshToken(ctx) {
		return ctx // the gateway has reported it to its caller
	}
	own := ""
	if ids := metadata.ValueFromIncomingContext(ctx, telemetry.RequestMetadata); len(ids) == 1 {
		own = ids[0]
	}
	ctx, id := telemetry.WithRequestID(ctx, own)
	_ = ss.SetHeader(metadata.Pairs(telemetry.RequestMetadata, id)) // fails only after the header was sent
	return ctx
}

// ended returns the error of a call whose caller ended it as such: the cause that the caller gave is not an error of the handler. Within a
// process a handler sees that cause.
func ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || fault.As(err) != nil || errors.Is(err, ctx.Err()) || !errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}

// finish converts all errors to statuses, and logs those that are our fault.
func (s *Server) finish(ctx context.Context, method string, panicked any, err error) error {
	if panicked != nil {
		err = fault.Internal(fmt.Errorf("panic: %v\n%s", panicked, debug.Stack()))
	}
	if err == nil {
		return nil
	}
	if grpcOwn(method) {
		err = fault.Adopt(err)
	}
	st := fault.Status(err)
	level := slog.LevelDebug
	if c := st.Code(); c == codes.Internal || c == codes.Unknown || c == codes.DataLoss {
		level = slog.LevelError
	}
	if s.cfg.Log.Enabled(ctx, level) {
		s.cfg.Log.Log(ctx, level, "call failed", "method", method, "code", st.Code().String(), "error", err)
	}
	return st.Err()
}

// admit authenticates and authorizes the caller. A method that is not served, or not for this caller, is reported as unimplemented.
func (s *Server) admit(ctx context.Context, method string) (context.Context, error) {
	permission, ok := s.permissions[method]
	if err := s.addressed(ctx); err != nil {
		return ctx, err
	}
	if !ok {
		return ctx, fault.Unimplemented(method)
	}
	if permission == Public {
		return ctx, nil
	}
	p, check, err := s.identify(ctx, method)
	if err != nil {
		return ctx, err
	}
	accepted(ctx)
	if check != nil {
		ctx = authn.WithCheck(ctx, *check)
	}
	if p.GetTenant() == "" { // rows and cache entries of no tenant would be visible to all
		return ctx, fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "the caller belongs to no tenant")
	}
	outside := !hasMeshToken(ctx)
	ctx = s.withoutCredentials(authn.With(ctx, p))
	if err := s.authorize(ctx, p, method, outside); err != nil || !outside {
		return ctx, err
	}
	return s.cfg.ProviderData.ReceiveCall(ctx)
}

// authorize checks the permission for a method, and counts the calls that come from outside the mesh towards quotas. Those of roles come
// from calls that the gateway has counted, or belong to turns.
func (s *Server) authorize(ctx context.Context, p *policyv1.Principal, method string, outside bool) error {
	permission := s.permissions[method]
	if permission == Authenticated && (!outside || s.cfg.Requests == nil) {
		return nil
	}
	verdict, err := s.cfg.Authorizer.Decide(ctx, p, permission)
	if err != nil {
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "policy cannot be asked now").Cause(err)
	}
	if outside {
		if err := s.cfg.Requests.Take(ctx, p, verdict.Quota); err != nil {
			return err
		}
	}
	if !verdict.Allowed && permission != Authenticated {
		s.cfg.Authorizer.RecordDenied(ctx, p, permission, method)
		return fault.Denied(permission, verdict.DeniedBy)
	}
	return nil
}

// withoutCredentials removes a user's token from the metadata, so that no handler can pass it on: the mesh carries the principal, and with
// it the sealed token. A sealed token counts only if a role sent it.
func (s *Server) withoutCredentials(ctx context.Context) context.Context {
	credentials := metadata.ValueFromIncomingContext(ctx, credentialsKey)
	sealed := metadata.ValueFromIncomingContext(ctx, callertoken.Metadata)
	if len(credentials) == 0 && len(sealed) == 0 {
		return ctx
	}
	md, _ := metadata.FromIncomingContext(ctx) // a copy
	if len(credentials) > 0 {
		ctx = callertoken.With(ctx, s.cfg.Tokens.Seal(authn.Token(credentials), authn.From(ctx)))
	} else if hasMeshToken(ctx) {
		ctx = callertoken.With(ctx, []byte(sealed[0]))
	}
	md.Delete(credentialsKey)
	md.Delete(callertoken.Metadata)
	return metadata.NewIncomingContext(ctx, md)
}

// credentialsKey is the metadata key of a user's token.
const credentialsKey = "authorization"

// hasMeshToken reports whether the caller sent a mesh token, which admit has verified.
func hasMeshToken(ctx context.Context) bool {
	return len(metadata.ValueFromIncomingContext(ctx, authn.Header)) > 0
}

// identify returns the caller's principal: that of the mesh token, if there is one, else what the caller's credentials say, and then how
// they are verified again, if they can expire.
func (s *Server) identify(ctx context.Context, method string) (*policyv1.Principal, *authn.Check, error) {
	if err := s.checkCertificate(ctx); err != nil {
		return nil, nil, err
	}
	tokens, credentials := metadata.ValueFromIncomingContext(ctx, authn.Header), metadata.ValueFromIncomingContext(ctx, credentialsKey)
	switch {
	case len(tokens) == 0 && s.internal[method]:
		return nil, nil, fault.Unimplemented(method)
	case len(tokens) == 0:
		md, _ := metadata.FromIncomingContext(ctx)
		c := authn.Credentials{Authorization: credentials, Peer: connection(ctx, md)}
		p, err := s.cfg.Authenticator.Authenticate(ctx, c)
		if check, ok := s.cfg.Authenticator.Check(c); ok && err == nil {
			return p, &check, nil
		}
		return p, nil, err
	case len(tokens) > 1 || len(credentials) > 0:
		return nil, nil, fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "the call carries several credentials").
			Hint("Send a bearer token or a mesh token, and only one of them.")
	}
	p, err := s.cfg.Keyring.Verify(tokens[0])
	if err != nil {
		return nil, nil, fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "the mesh token is not valid").
			Hint("All processes of a mesh must share one mesh.key, and their clocks must agree.").Cause(err)
	}
	return p, nil, s.checkRole(ctx, p, method)
}

// connection describes the connection of a call.
func connection(ctx context.Context, md metadata.MD) authn.Peer {
	out := authn.Peer{User: peercred.FromPeer(ctx)}
	if p, ok := peer.FromContext(ctx); ok {
		out.Remote, out.Local = p.Addr, p.LocalAddr
	}
	if host := md.Get(":authority"); len(host) > 0 {
		out.Host = host[0]
	}
	for _, name := range authn.ProxyHeaders {
		out.Forwarded = out.Forwarded || len(md.Get(name)) > 0
	}
	return out
}

func (s *Server) validate(req any) error {
	m, ok := req.(proto.Message)
	if !ok {
		return nil
	}
	bad, err := Violations(s.validator, m)
	if len(bad) == 0 {
		return err
	}
	fields := make([]fault.Field, 0, len(bad))
	for _, v := range bad {
		path := protovalidate.FieldPathString(v.Proto.GetField())
		if path == "" {
			path = "request"
		}
		fields = append(fields, fault.Field{Path: path, Message: violationText(v)})
	}
	return fault.InvalidFields(fields)
}
