package api

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/events"
	"github.com/windlass-dev/windlass/services/policy/store"
	"github.com/windlass-dev/windlass/services/policy/vault"
)

// secrets implements SecretService.
type secrets struct {
	policyv1.UnimplementedSecretServiceServer

	vault *vault.Vault
	store store.Store // of decisions
	trail *trail.Trail
	now   func() time.Time
	log   *slog.Logger
}

// decision returns the record of who used or changed a secret.
func (s *secrets) decision(ctx context.Context, tenant, method, name, reason string) store.Decision {
	return store.Decision{
		Tenant: tenant, ID: ids.New(ids.Decision), Time: s.now(), Subject: authn.From(ctx).GetSubject(), Actor: decide.Actor(ctx),
		Kind: store.Secret, Resource: name, Method: method, Allowed: true, Reason: reason,
	}
}

// recorded records a change in its transaction, with its domain event: there is no change without a record.
func (s *secrets) recorded(ctx context.Context, method, eventType string, reason func(vault.Secret) string) vault.Also {
	return func(tx sqldb.Tx, made vault.Secret) error {
		e, err := events.New(ctx, s.now(), eventType, made.Name, &eventv1.SecretChange{
			Name: made.Name, Version: made.Version, Actor: authn.From(ctx).GetSubject(),
		})
		if err != nil {
			return err
		}
		if err := s.store.EventLog().Add(ctx, tx, e, 1); err != nil {
			return err
		}
		return store.AddIn(ctx, tx, s.decision(ctx, made.Tenant, method, made.Name, reason(made)))
	}
}

// added says that a change was committed.
func (s *secrets) added() {
	s.trail.Added()
	s.store.EventLog().Added()
}

// CreateSecret implements SecretService.
func (s *secrets) CreateSecret(ctx context.Context, req *policyv1.CreateSecretRequest) (*policyv1.Secret, error) {
	made, err := s.vault.Create(ctx, vault.Secret{
		Tenant: authn.Tenant(ctx), Name: req.GetName(), Description: req.GetDescription(), SetBy: authn.From(ctx).GetSubject(),
	}, secret.New(req.GetValue()), s.recorded(ctx, "CreateSecret", "dev.windlass.secret.created.v1", func(vault.Secret) string {
		return "created"
	}))
	if err != nil {
		return nil, vault.Fault(err, req.GetName())
	}
	s.added()
	return secretToProto(made), nil
}

// UpdateSecret implements SecretService.
func (s *secrets) UpdateSecret(ctx context.Context, req *policyv1.UpdateSecretRequest) (*policyv1.Secret, error) {
	changed, err := s.vault.Update(ctx, vault.Secret{
		Tenant: authn.Tenant(ctx), Name: req.GetName(), Description: req.GetDescription(), SetBy: authn.From(ctx).GetSubject(),
	}, secret.New(req.GetValue()), s.recorded(ctx, "UpdateSecret", "dev.windlass.secret.updated.v1", func(made vault.Secret) string {
		return fmt.Sprintf("set to version %d", made.Version)
	}))
	if err != nil {
		return nil, vault.Fault(err, req.GetName())
	}
	s.added()
	return secretToProto(changed), nil
}

// GetSecret implements SecretService.
func (s *secrets) GetSecret(ctx context.Context, req *policyv1.GetSecretRequest) (*policyv1.Secret, error) {
	found, err := s.vault.Get(ctx, authn.Tenant(ctx), req.GetName())
	if err != nil {
		return nil, vault.Fault(err, req.GetName())
	}
	return secretToProto(found), nil
}

// ListSecrets implements SecretService.
func (s *secrets) ListSecrets(ctx context.Context, req *policyv1.ListSecretsRequest) (*policyv1.ListSecretsResponse, error) {
	const list = "secrets"
	var after string
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	found, err := s.vault.List(ctx, authn.Tenant(ctx), after, size+1)
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	resp := &policyv1.ListSecretsResponse{}
	found, resp.NextPageToken = page.Trim(found, size, list, func(s vault.Secret) any { return s.Name })
	for _, f := range found {
		resp.Secrets = append(resp.Secrets, secretToProto(f))
	}
	return resp, nil
}

// DeleteSecret implements SecretService.
func (s *secrets) DeleteSecret(ctx context.Context, req *policyv1.DeleteSecretRequest) (*policyv1.DeleteSecretResponse, error) {
	err := s.vault.Delete(ctx, authn.Tenant(ctx), req.GetName(),
		s.recorded(ctx, "DeleteSecret", "dev.windlass.secret.deleted.v1", func(vault.Secret) string { return "deleted" }))
	if err != nil {
		return nil, vault.Fault(err, req.GetName())
	}
	s.added()
	return &policyv1.DeleteSecretResponse{}, nil
}

// RotateSecrets implements SecretService.
func (s *secrets) RotateSecrets(ctx context.Context, _ *policyv1.RotateSecretsRequest) (*policyv1.RotateSecretsResponse, error) {
	n, id, err := s.vault.Rotate(ctx, func(tx sqldb.Tx, keyID string) error {
		return store.AddIn(ctx, tx, s.decision(ctx, authn.Tenant(ctx), "RotateSecrets", "*", "encrypted with data key "+keyID))
	})
	if err != nil {
		return nil, vault.Fault(err, "")
	}
	s.log.InfoContext(ctx, "data keys of the vault rotated", "secrets", n, "key_id", id)
	s.trail.Added()
	return &policyv1.RotateSecretsResponse{Secrets: uint32(n), KeyId: id}, nil
}

// ResolveSecret implements SecretService.
func (s *secrets) ResolveSecret(ctx context.Context, req *policyv1.ResolveSecretRequest) (*policyv1.ResolveSecretResponse, error) {
	if err := onlyRoles(ctx, "policy.secrets.resolve"); err != nil {
		return nil, err
	}
	value, found, err := s.vault.Value(ctx, req.GetTenant(), req.GetName())
	if err != nil {
		return nil, vault.Fault(err, req.GetName())
	}
	used := s.decision(ctx, req.GetTenant(), "ResolveSecret", req.GetName(), fmt.Sprintf("version %d read", found.Version))
	if err := s.store.Add(ctx, used, nil); err != nil {
		return nil, err // a use that is not on record does not happen
	}
	return &policyv1.ResolveSecretResponse{Value: value.Reveal(), Version: found.Version}, nil
}

func secretToProto(s vault.Secret) *policyv1.Secret {
	return &policyv1.Secret{
		Name: s.Name, Description: s.Description, Version: s.Version, SetBy: s.SetBy,
		CreateTime: timestamppb.New(s.Created), UpdateTime: timestamppb.New(s.Updated),
	}
}
