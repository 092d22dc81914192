package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
	"github.com/windlass-dev/windlass/services/registry/login"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// owner says whose credentials a source has.
func owner(s store.Source) credential.Owner {
	return credential.Owner{
		Tenant: s.Tenant, ID: s.Tenant + "/" + s.ID, Version: strconv.FormatUint(uint64(s.Revision), 10),
		Title: fmt.Sprintf("source %q", s.Name), Path: "source",
		Headers: s.Spec.Headers, Auth: s.Spec.Auth,
	}
}

// home is the origin that the credentials of a source are for: that of its base URL, else that of its URL.
func home(s store.Spec) string { return login.Destination(s) }

// operation returns the stored operation or template of a definition.
func (a *apis) operation(ctx context.Context, tenant, hash string) (httpcall.Maker, error) {
	key := tenant + "/" + hash
	if op, ok := a.operations.Get(key); ok {
		return op, nil
	}
	raw, err := a.definition(ctx, tenant, hash)
	if err != nil {
		return nil, err
	}
	var stored struct {
		Operation *httpcall.Operation
		Template  *httpcall.Template
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, fmt.Errorf("decode definition %s: %w", hash, err)
	}
	var m httpcall.Maker = stored.Operation
	if stored.Template != nil {
		m = stored.Template
	} else if stored.Operation == nil {
		return nil, fmt.Errorf("definition %s says no request", hash)
	}
	a.operations.Add(key, m)
	return m, nil
}

// definition reads a stored definition.
func (a *apis) definition(ctx context.Context, tenant, hash string) ([]byte, error) {
	found, err := a.definitions.Definitions(ctx, tenant, []string{hash})
	if err != nil {
		return nil, fmt.Errorf("read definition: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("definition %s is not stored", hash)
	}
	return found[0].Raw, nil
}

// callAPI sends one request. It is sent once more if the API refuses its access token, and it may be repeated or was certainly not applied.
func (u *Upstream) callAPI(ctx context.Context, r Request, given providerdata.Data) (Reply, error) {
	op, err := u.apis.operation(ctx, r.Source.Tenant, r.Definition)
	if err != nil {
		return Reply{}, &Error{Kind: NotSent, Fault: fault.From(err)}
	}
	ctx, cancel := context.WithTimeout(ctx, u.CallTimeout(r.Source))
	defer cancel()
	add, hide := provided(r.Source, given)
	for retried := false; ; retried = true {
		set, err := u.apis.credentials.For(ownerAs(r.Source, r.as))
		if err != nil {
			return Reply{}, &Error{Kind: NotSent, Fault: fault.From(err)}
		}
		refused, again := false, false
		var scopes *scopesError
		call := httpcall.Call{
			Source: r.Source.Name, Maker: op, Args: r.Arguments, Repeatable: r.Effect.Repeatable(),
			Hide: func(text string) string { return hide(set.Hide(text)) },
			Authorize: func(out *http.Request) error {
				if err := set.Authorize(out); err != nil {
					return err
				}
				return add(out)
			},
			Refused: func(sent *http.Request, certain bool) {
				refused = set.Refused(sent) || r.as.subject != ""
				again = refused && (certain || r.Effect.Repeatable())
			},
			MaxBytes:     u.cfg.MaxResponseBytes,
			Insufficient: func(wanted []string) { scopes = &scopesError{wanted} },
		}
		if r.Effect != store.Read {
			call.Key = r.Meta["windlass/idempotency_key"]
		}
		result, err := httpcall.Send(ctx, u.apis.egress, call)
		switch {
		case err == nil && scopes != nil && r.as.subject != "": // it says that it did not do anything, also if the call must not run twice
			return Reply{}, scopes
		case err == nil && again && r.as.subject != "":
			return Reply{}, errRefused
		case err == nil && refused && r.as.subject != "": // it may have done something; the next call uses another token
			u.logins.refused(r)
		case err == nil && again && !retried:
			continue
		}
		return replied(result, err)
	}
}

func replied(result *turnv1.ToolResult, err error) (Reply, error) {
	if err == nil {
		return Reply{Result: result}, nil
	}
	failure, ok := errors.AsType[*httpcall.Error](err)
	if !ok {
		return Reply{}, &Error{Kind: InDoubt, Fault: fault.From(err)}
	}
	kind := map[httpcall.Fate]Kind{httpcall.NotSent: NotSent, httpcall.InDoubt: InDoubt, httpcall.TooLarge: TooLarge}[failure.Fate]
	return Reply{}, &Error{Kind: kind, Fault: failure.Fault}
}
