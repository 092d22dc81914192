package upstream

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/usertoken"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// wallet has the tokens of a user, one after another.
type wallet struct {
	version uint32
	log     []string
	more    error // of a source that wants more scopes; nil = the next token has them
}

func (w *wallet) Token(context.Context, usertoken.Want) (usertoken.Token, error) {
	return usertoken.Token{Version: w.version}, nil
}

func (w *wallet) Refused(_ usertoken.Want, t usertoken.Token) {
	w.log = append(w.log, fmt.Sprint("refused ", t.Version))
	w.version++
}

func (w *wallet) Insufficient(_ context.Context, _ usertoken.Want, t usertoken.Token, scopes []string) error {
	w.log = append(w.log, fmt.Sprint("insufficient ", t.Version, scopes))
	w.version++
	return w.more
}

func TestTokensThatAreRefused(t *testing.T) {
	src := store.Source{ID: "src_1", Name: "crm", Kind: "mcp", Spec: store.Spec{Auth: &credential.Auth{
		Kind: credential.AuthorizationCode,
	}}}
	short := &source.ScopesError{Wanted: []string{"write"}}
	more := fault.AuthorizationRequired("crm", fault.Connection, "https://mesh.example/connect", "it wants more")
	for name, row := range map[string]struct {
		more    error
		answers []error // of the source
		want    string  // code; empty = done
		log     []string
	}{
		"accepted":     {nil, []error{nil}, "", nil},
		"refused once": {nil, []error{source.ErrRefused, nil}, "", []string{"refused 1"}},
		"refused twice": {
			nil, []error{source.ErrRefused, source.ErrRefused}, "failed_precondition", []string{"refused 1", "refused 2"},
		},
		"short, and the user is asked": {more, []error{short}, "authorization_required", []string{"insufficient 1 [write]"}},
		"short, and replaced since":    {nil, []error{short, nil}, "", []string{"insufficient 1 [write]"}},
		"short, and short again": {
			nil, []error{short, short}, "failed_precondition", []string{"insufficient 1 [write]", "insufficient 2 [write]"},
		},
		"another error": {nil, []error{more}, "authorization_required", nil},
	} {
		w := &wallet{version: 1, more: row.more}
		answers := row.answers
		err := logins{tokens: w}.with(t.Context(), src, "alice", func(source.User) error {
			a := answers[0]
			answers = answers[1:]
			return a
		})
		if len(answers) > 0 || (err == nil) != (row.want == "") || err != nil && fault.CodeOf(err) != row.want || !slices.Equal(w.log, row.log) {
			t.Errorf("%s: %v after %q, %d answers left", name, err, w.log, len(answers))
		}
	}
}
