package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// actionsKept limits the actions in memory.
const actionsKept = 2048

// Kind is workflows of a Temporal namespace.
type Kind struct{}

// Facts implements source.Kind.
func (Kind) Facts() source.Facts {
	return source.Facts{
		Name: "workflow", Auth: []string{credential.Bearer, credential.ClientCredentials}, Fields: []string{"workflows"}, Uncached: true,
	}
}

// Validate implements source.Kind.
func (Kind) Validate(s store.Source, bad source.Bad) {
	source.NoServer(s, bad)
	if s.Spec.URL != "" || s.Document != "" || s.Spec.BaseURL != "" || s.Spec.Operations != nil || len(s.Spec.Endpoints) > 0 ||
		len(s.Spec.Headers) > 0 {
		bad("source.kind", "a source of kind workflow has temporal, workflows and auth, and no url, document, base_url, operations, "+
			"endpoints or headers")
	}
	at := s.Spec.Temporal
	if at == nil {
		bad("source.temporal", "it is required: where Temporal is")
		return
	}
	if message := wrongAddress(at.Address); message != "" {
		bad("source.temporal.address", message)
	}
	if strings.ContainsFunc(at.Namespace, func(r rune) bool { return r <= ' ' || r > '~' }) {
		bad("source.temporal.namespace", "not a valid name of a namespace")
	}
	if len(s.Spec.Workflows) == 0 {
		bad("source.workflows", "give at least one workflow")
	}
	Tools(s.Spec.Workflows, func(i int, field, message string) {
		bad(fmt.Sprintf("source.workflows[%d].%s", i, field), message)
	})
	if a := s.Spec.Auth; a != nil {
		switch {
		case a.Kind != credential.Bearer && a.Kind != credential.ClientCredentials:
			bad("source.auth.kind", "use bearer, for an API key of Temporal, or oauth2_client_credentials")
		case !at.TLS:
			bad("source.temporal.tls", "credentials are sent with TLS only: set it to true")
		}
	}
}

// wrongAddress says what is wrong with a "host:port".
func wrongAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	number, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" || portErr != nil || number == 0 || strings.ContainsAny(host, "/@ ") {
		return "it is \"host:port\", as in \"temporal.example:7233\""
	}
	return ""
}

// driver calls workflows.
type driver struct {
	env     *source.Env
	client  *Client
	actions *source.Decoder[Action]
}

// Open returns the driver of the kind.
func Open(env *source.Env) source.Driver {
	action := func(raw []byte) (Action, error) {
		var t Tool
		err := json.Unmarshal(raw, &t)
		return t.Action, err
	}
	return driver{env, NewClient(env.Egress, env.MaxResponseBytes), source.NewDecoder(env.Definitions, actionsKept, action)}
}

func (d driver) Release(_ context.Context, s store.Source) error {
	d.client.Forget(s)
	return nil
}

func (d driver) Close() { d.client.Close() }

// Discover: the tools are the workflows that are part of the source, if Temporal is there.
func (d driver) Discover(ctx context.Context, s store.Source, as source.User) (store.Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, d.env.DiscoverTimeout)
	defer cancel()
	set, err := d.env.Credentials.For(source.Owner(s, as))
	if err != nil {
		return store.Inventory{}, err
	}
	version, err := d.client.Probe(ctx, s, set.Authorize, set.Hide)
	if err != nil {
		return store.Inventory{}, err
	}
	inv := store.Inventory{ServerVersion: version, ProtocolVersion: "Temporal"}
	var mistake error
	tools := Tools(s.Spec.Workflows, func(_ int, field, message string) {
		mistake = fault.Invalid("source.workflows."+field, "%s", message)
	})
	if mistake != nil {
		return store.Inventory{}, mistake
	}
	for _, t := range tools {
		raw, err := json.Marshal(t)
		if err != nil {
			return store.Inventory{}, fault.Internal(err)
		}
		inv.Tools = append(inv.Tools, store.Found{
			OriginalName: t.Name, Description: t.Description, Raw: raw, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
			Tags: t.Tags, Effect: t.Effect,
		})
	}
	return inv, nil
}

// Call: it starts a workflow and waits for its result, or asks for the result of one.
func (d driver) Call(ctx context.Context, r *source.Request, _ func(source.Notice)) (source.Reply, error) {
	action, err := d.actions.Of(ctx, r.Source.Tenant, r.Definition)
	if err != nil {
		return source.Reply{}, source.Unsent(err)
	}
	access, err := d.env.Access(r)
	if err != nil {
		return source.Reply{}, err
	}
	result, err := d.client.Call(ctx, Call{
		Source: r.Source, Action: action, Args: r.Arguments, Key: r.Key(), Subject: r.By.Principal.GetSubject(),
		Timeout: d.env.CallTimeout(r.Source), Authorize: access.Authorize, Hide: access.Hide,
	})
	return source.Reply{Result: result}, err
}
