package api

import (
	"context"

	"github.com/windlass-dev/windlass/libs/authn"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/login"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// userOf returns the subject of the context's principal, if that is a person: only people log in at sources.
func userOf(ctx context.Context) string {
	if p := authn.From(ctx); p.GetKind() == policyv1.PrincipalKind_PRINCIPAL_KIND_USER {
		return p.GetSubject()
	}
	return ""
}

// syncAs makes the caller the user whose login lists the source's tools.
func (s *Sources) syncAs(ctx context.Context, src store.Source) (store.Source, error) {
	subject := userOf(ctx)
	if !src.Spec.UserLogin() || subject == "" || subject == src.LoginSubject {
		return src, nil
	}
	src.LoginSubject = subject
	return src, s.store.SetLoginSubject(ctx, src.Tenant, src.ID, subject)
}

// GetLogin implements SourceService.
func (s *Sources) GetLogin(ctx context.Context, req *registryv1.GetLoginRequest) (*registryv1.Login, error) {
	src, err := s.store.Source(ctx, req.GetTenant(), req.GetSource())
	if err != nil {
		return nil, notFound(err, req.GetSource())
	}
	out := &registryv1.Login{
		SourceId: src.ID, Source: src.Name, ServerUrl: login.ServerURL(src), Destination: source.Home(src.Spec), Target: login.Target(src),
	}
	if src.Spec.UserLogin() {
		out.Auth = sourceToProto(src).GetAuth()
	}
	return out, nil
}
