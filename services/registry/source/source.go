// Package source declares what a kind of source is: the facts that hold for all its sources, and how they are called. Each kind has a
// package of its own, and package kinds lists them.
package source

import (
	"context"
	"slices"

	"github.com/windlass-dev/windlass/libs/credential"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Bad reports a mistake in a field of a source.
type Bad func(field, message string)

// Kind is a kind of source as it is known without calling one.
type Kind interface {
	// Facts returns what holds for all sources of the kind.
	Facts() Facts
	// Validate reports what the kind requires of a source, and what it excludes. What Facts say is checked elsewhere, for all kinds.
	Validate(s store.Source, bad Bad)
}

// Facts hold for all sources of a kind.
type Facts struct {
	// Name is the kind's name in the API.
	Name string
	// Auth lists the kinds of credentials that a source may have.
	Auth []string
	// Fields are the fields of the API that only sources of this kind have, of those in the list of package sourcespec.
	Fields []string
	// Bridge means that sources are MCP servers. The MCP bridge calls them, in its own environment. They may take provider data in _meta,
	// offer resources and prompts, and say themselves how users log in.
	Bridge bool
	// Headers means that the registry sends the calls, as requests that may have headers.
	Headers bool
	// Own means that the tools are the mesh's: calls have no limits and no breaker, and the configuration does not change the source.
	Own bool
	// Silent means that Discover sends nothing, so that it needs no login and does not show that the source can be reached.
	Silent bool
	// Uncached means that results are not kept: they change without a call, or cost nothing.
	Uncached bool
}

// Has reports whether sources have a field that is one of Fields.
func (f Facts) Has(field string) bool { return slices.Contains(f.Fields, field) }

// Takes reports whether sources may have a kind of credential.
func (f Facts) Takes(auth string) bool { return slices.Contains(f.Auth, auth) }

// AnyAuth are all kinds of credentials, and ServerAuth those that need no login of a user.
var (
	ServerAuth = []string{credential.APIKey, credential.Basic, credential.Bearer, credential.ClientCredentials, credential.Exchange}
	AnyAuth    = append(slices.Clone(ServerAuth), credential.AuthorizationCode)
)

// Driver calls the sources of a kind. It is safe for concurrent use. It may also implement the interfaces below, and have a Close.
type Driver interface {
	// Discover lists a source's tools, with the login of a user if there is one. The error is ErrRefused, a *ScopesError, or one for the
	// source's owner.
	Discover(ctx context.Context, s store.Source, as User) (store.Inventory, error)
	// Call sends one call and returns the tool's answer. Errors are of *Error, or ErrRefused or of *ScopesError.
	Call(ctx context.Context, r *Request, notice func(Notice)) (Reply, error)
}

// Releaser is a driver that holds something for a source.
type Releaser interface {
	// Release closes what is held for a source that was changed, switched off or deleted.
	Release(ctx context.Context, s store.Source) error
}

// Rereader is a driver that remembers which description of a source it has read.
type Rereader interface {
	// Reread has the next Discover read the description, even if it was just read.
	Reread(s store.Source)
}

// Public is a driver of which some sources can be listed without the login of a user, though calls need one.
type Public interface {
	// Public reports whether Discover needs no login.
	Public(s store.Source) bool
}

// Server is a driver whose sources offer more than tools.
type Server interface {
	// Forward sends one request about resources, prompts or completions. Errors are of *Error, or ErrRefused or of *ScopesError.
	Forward(ctx context.Context, s store.Source, as User, method string, params []byte, accepts []string) (*mcpbridgev1.ForwardResponse, error)
	// WatchResources calls on with what has changed of offers, and first with nothing when the server has accepted the subscription. The error
	// is ErrRefused, a *ScopesError or a fault.
	WatchResources(ctx context.Context, s store.Source, as User, offers Offers, on func(changed Offers) error) error
}

// Offers is what a server lists besides tools.
type Offers struct {
	// URIs are those of resources.
	URIs []string
	// ResourceList and PromptList are the lists.
	ResourceList, PromptList bool
}
