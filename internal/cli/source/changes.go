package source

import (
	"io"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/internal/cli/app"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// fieldsOf are the fields of a source that a flag sets. An empty value of a flag clears them.
var fieldsOf = map[string][]string{
	"url": {"url"}, "transport": {"transport"}, "elicitation": {"elicitation"}, "exclude": {"exclude"}, "pin": {"pin"}, "dir": {"dir"},
	"env": {"env"}, "header": {"headers"}, "timeout": {"call_timeout_seconds"},
	"openapi": {"url", "document"}, "graphql": {"url"}, "grpc": {"url"}, "tls": {"url"}, "descriptor-set": {"descriptor_set"},
	"key-header": {"key_header"}, "endpoint": {"endpoints"}, "base-url": {"base_url"}, "agents": {"agents"},
	"tag": {"operations"}, "path": {"operations"}, "operation": {"operations"},
	"bearer": {"auth"}, "basic": {"auth"}, "api-key": {"auth"}, "token-url": {"auth"}, "client-id": {"auth"}, "client-secret": {"auth"},
	"scope":    {"auth"},
	"workflow": {"workflows", "temporal"}, "temporal": {"workflows", "temporal"}, "temporal-namespace": {"workflows", "temporal"},
	"temporal-tls": {"workflows", "temporal"}, "poll": {"workflows", "temporal"},
}

// changes returns the fields of a source that flags and the arguments after its ID change, with their names.
func changes(f *pflag.FlagSet, args []string, in io.Reader) (source *registryv1.Source, fields []string, err error) {
	r := reader{flags: f, source: &registryv1.Source{}}
	if err := r.general(args[1:]); err != nil {
		return nil, nil, err
	}
	if err := r.changed(in); err != nil {
		return nil, nil, err
	}
	names := map[string]bool{}
	if len(args) > 1 {
		names["command"] = true
	}
	f.Visit(func(flag *pflag.Flag) {
		for _, name := range fieldsOf[flag.Name] {
			names[name] = true
		}
	})
	if len(names) == 0 {
		return nil, nil, app.Usage("name what to change, as in --timeout 30 or --base-url URL")
	}
	r.source.Kind = "" // it stays
	return r.source, slices.Sorted(maps.Keys(names)), nil
}

// changed reads the flags that are given, besides those of all kinds of sources.
func (r reader) changed(in io.Reader) error {
	endpoints, err := r.flags.GetStringArray("endpoint")
	if err != nil {
		return app.Usage("%s", err)
	}
	workflows, err := r.flags.GetStringArray("workflow")
	if err != nil {
		return app.Usage("%s", err)
	}
	for _, part := range []struct {
		given bool
		read  func() error
	}{
		{r.get("openapi") != "", func() error { return r.document(r.get("openapi"), in) }},
		{r.get("graphql") != "", r.graphql},
		{r.get("grpc") != "", func() error { return r.grpc(r.get("grpc"), in) }},
		{r.get("grpc") == "" && r.flags.Changed("tls"), func() error { return app.Usage("--tls belongs to --grpc HOST:PORT") }},
		{r.get("grpc") == "" && r.get("descriptor-set") != "", func() error { return r.descriptors(r.get("descriptor-set"), in) }},
		{len(endpoints) > 0, func() error { return r.endpoints(endpoints) }},
		{len(workflows) > 0, func() error { return r.workflows(workflows) }},
		{len(workflows) == 0, r.onlyForWorkflows},
		{len(r.list("agents")) > 0, func() error { r.source.Agents = r.list("agents"); return nil }},
	} {
		if !part.given {
			continue
		}
		if err := part.read(); err != nil {
			return err
		}
	}
	r.source.BaseUrl, r.source.KeyHeader = r.get("base-url"), r.get("key-header")
	r.operations()
	return r.auth()
}
