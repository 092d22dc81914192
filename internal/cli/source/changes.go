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
	r := reader{flags: f, in: in, source: &registryv1.Source{}}
	r.general(args[1:])
	if err := r.changed(); err != nil {
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
func (r reader) changed() error {
	for _, part := range append(r.kinds(),
		part{r.get("grpc") == "" && r.flags.Changed("tls"), func() error { return app.Usage("--tls belongs to --grpc HOST:PORT") }},
		part{r.get("grpc") == "", r.descriptors}, part{len(r.list("workflow")) == 0, r.onlyForWorkflows},
	) {
		if !part.given {
			continue
		}
		if err := part.read(); err != nil {
			return err
		}
	}
	r.source.BaseUrl, r.source.KeyHeader, r.source.Agents = r.get("base-url"), r.get("key-header"), r.list("agents")
	r.operations()
	return r.auth()
}
