package api

import (
	"encoding/base64"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/kinds"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// binaries are the fields with bytes that describe a source, each with the one kind that has it. They are stored in the place of a
// document.
var binaries = []struct {
	field, kind string
	get         func(*registryv1.Source) []byte
}{
	{"descriptor_set", "grpc", (*registryv1.Source).GetDescriptorSet},
	{"archive", "skills", (*registryv1.Source).GetArchive},
}

// checkBinaries checks that a source has only the bytes that its kind has.
func checkBinaries(p *registryv1.Source, kind string) error {
	for _, b := range binaries {
		switch {
		case len(b.get(p)) == 0:
		case !kinds.Facts(kind).Has(b.field):
			return fault.Invalid("source."+b.field, "only a source of kind %s has it", b.kind)
		case p.GetDocument() != "":
			return fault.Invalid("source.document", "a source of kind %s has %s, and no document", b.kind, b.field)
		}
	}
	return nil
}

// documentFromProto returns what describes a source, as it is stored.
func documentFromProto(p *registryv1.Source) string {
	for _, b := range binaries {
		if data := b.get(p); len(data) > 0 && p.GetDocument() == "" {
			return base64.StdEncoding.EncodeToString(data)
		}
	}
	return p.GetDocument()
}

// documentToProto sets the field that has what describes a source.
func documentToProto(src store.Source, p *registryv1.Source) {
	facts := kinds.Facts(src.Kind)
	data, err := base64.StdEncoding.DecodeString(src.Document)
	switch binary := err == nil && len(data) > 0; {
	case facts.Has("archive") && binary:
		p.Archive = data
	case facts.Has("descriptor_set") && binary:
		p.DescriptorSet = data
	case !facts.Has("archive") && !facts.Has("descriptor_set"):
		p.Document = src.Document
	}
}

// apiToProto sets the fields of a source that are messages, and its document.
func apiToProto(src store.Source, p *registryv1.Source) {
	s := src.Spec
	p.KeyHeader = s.KeyHeader
	documentToProto(src, p)
	if f := s.Operations; f != nil {
		p.Operations = &registryv1.OperationFilter{Tags: f.Tags, Paths: f.Paths, Names: f.Names}
	}
	p.Auth, p.SyncAuth = authToProto(s.Auth), authToProto(s.SyncAuth)
	if d := s.ProviderData; d != nil {
		p.ProviderData = &registryv1.SourceProviderData{Meta: d.Meta, Headers: d.Headers, Optional: d.Optional}
	}
	for _, e := range s.Endpoints {
		p.Endpoints = append(p.Endpoints, &registryv1.Endpoint{
			Name: e.Name, Description: e.Description, Method: e.Method, Path: e.Path, Query: e.Query, Headers: e.Headers, Form: e.Form,
			Text: e.Text, MediaType: e.MediaType, Tags: e.Tags, Deprecated: e.Deprecated, KeyHeader: e.KeyHeader,
			Body: structOf(e.Body), InputSchema: structOf(e.InputSchema), OutputSchema: structOf(e.OutputSchema),
		})
	}
}

// structOf converts a JSON object; nil stays nil.
func structOf(object map[string]any) *structpb.Struct {
	if object == nil {
		return nil
	}
	return canon.Object(object).Struct()
}

func endpointsFromProto(list []*registryv1.Endpoint) []store.Endpoint {
	var out []store.Endpoint
	for _, p := range list {
		e := store.Endpoint{
			Name: p.GetName(), Description: p.GetDescription(), Method: p.GetMethod(), Path: p.GetPath(), Query: p.GetQuery(),
			Headers: p.GetHeaders(), Form: p.GetForm(), Text: p.GetText(), MediaType: p.GetMediaType(), Tags: p.GetTags(),
			Deprecated: p.GetDeprecated(), KeyHeader: p.GetKeyHeader(),
		}
		e.Body, e.InputSchema, e.OutputSchema = mapOf(p.GetBody()), mapOf(p.GetInputSchema()), mapOf(p.GetOutputSchema())
		out = append(out, e)
	}
	return out
}

func filterFromProto(p *registryv1.OperationFilter) *store.OperationFilter {
	if p == nil {
		return nil
	}
	return &store.OperationFilter{Tags: p.GetTags(), Paths: p.GetPaths(), Names: p.GetNames()}
}

func providerDataFromProto(p *registryv1.SourceProviderData) *store.ProviderData {
	if p == nil {
		return nil
	}
	return &store.ProviderData{Meta: p.GetMeta(), Headers: p.GetHeaders(), Optional: p.GetOptional()}
}

func authToProto(a *store.Auth) *registryv1.SourceAuth {
	if a == nil {
		return nil
	}
	return &registryv1.SourceAuth{
		Kind: a.Kind, In: a.In, Name: a.Name, Secret: a.Secret, Username: a.Username, TokenUrl: a.TokenURL, ClientId: a.ClientID,
		Scopes: a.Scopes, Audience: a.Audience, AuthorizationUrl: a.AuthorizationURL, RevocationUrl: a.RevocationURL, Issuer: a.Issuer,
		Resource: a.Resource,
	}
}

func authFromProto(p *registryv1.SourceAuth) *store.Auth {
	if p == nil {
		return nil
	}
	return &store.Auth{
		Kind: p.GetKind(), In: p.GetIn(), Name: p.GetName(), Secret: p.GetSecret(), Username: p.GetUsername(), TokenURL: p.GetTokenUrl(),
		ClientID: p.GetClientId(), Scopes: p.GetScopes(), Audience: p.GetAudience(), AuthorizationURL: p.GetAuthorizationUrl(),
		RevocationURL: p.GetRevocationUrl(), Issuer: p.GetIssuer(), Resource: p.GetResource(),
	}
}
