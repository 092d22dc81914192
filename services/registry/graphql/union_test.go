package graphql_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	gophers "github.com/graph-gophers/graphql-go"
	"github.com/graph-gophers/graphql-go/relay"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/services/registry/graphql"
)

// forge has a union whose members have fields of the same names: with other nullability, other types, other lists, and objects with such
// fields. "Repo_title" is a field of its own.
const forge = `
type Query { search: [Result!]! box: Box! named: [Named!]! }
union Result = Issue | Repo | User
type Box { content: Result! other: Other }
union Other = Org | Repo
interface Named { name: String }
type Issue { title: String! body: String! state: IssueState! labels: [String!]! author: User Repo_title: Int! same: String! }
type Repo { title: String body: String state: RepoState! labels: [String!] author: Org same: String! }
type User implements Named { name: String title: String! labels: String! same: String! }
type Org implements Named { name: String title: Int! }
enum IssueState { OPEN }
enum RepoState { PUBLIC }
`

type forgeRoot struct{}

type issue struct {
	Title, Body, State string
	Labels             []string
	Author             *user
	RepoTitle          int32
	Same               string
}

type repo struct {
	Title, Body *string
	State       string
	Labels      *[]string
	Author      *org
	Same        string
}

type user struct {
	Name          *string
	Title, Labels string
	Same          string
}

type org struct {
	Name  *string
	Title int32
}

func (t thing) ToIssue() (*issue, bool) { v, ok := t.v.(*issue); return v, ok }
func (t thing) ToRepo() (*repo, bool)   { v, ok := t.v.(*repo); return v, ok }
func (t thing) ToUser() (*user, bool)   { v, ok := t.v.(*user); return v, ok }
func (t thing) ToOrg() (*org, bool)     { v, ok := t.v.(*org); return v, ok }

type namedThing struct{ thing }

func (n namedThing) Name() *string {
	text := "it"
	return &text
}

type box struct {
	Content thing
	Other   *thing
}

func (forgeRoot) Search() []thing {
	text := "a repo"
	return []thing{
		{&issue{Title: "an issue", State: "OPEN", Labels: []string{"bug"}, Author: &user{Title: "Dr."}, RepoTitle: 7, Same: "i"}},
		{&repo{Title: &text, State: "PUBLIC", Author: &org{Title: 3}, Same: "r"}},
		{&user{Title: "Dr.", Labels: "none", Same: "u"}},
	}
}

func (r forgeRoot) Box() box          { return box{Content: r.Search()[1], Other: &thing{&org{Title: 3}}} }
func (forgeRoot) Named() []namedThing { return []namedThing{{thing{&user{}}}} }

// TestUnionsWhoseMembersDisagree: each query is one that a real server takes, and no field is lost.
func TestUnionsWhoseMembersDisagree(t *testing.T) {
	server := httptest.NewServer(&relay.Handler{Schema: gophers.MustParseSchema(forge, &forgeRoot{}, gophers.UseFieldResolvers())})
	t.Cleanup(server.Close)
	out, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.CloseIdle)
	tools, skipped, err := graphql.Read(t.Context(), introspect(t, server.URL), graphql.Options{URL: server.URL, MaxOperations: 10})
	if err != nil || len(skipped) > 0 || len(tools) != 3 {
		t.Fatalf("read: %v, %v, %v", tools, skipped, err)
	}
	want := map[string][]string{
		"search": {
			`"title":"an issue"`, `"Repo_title":7`, `"Repo_title_":"a repo"`, `"Repo_body":null`, `"state":"OPEN"`, `"Repo_state":"PUBLIC"`,
			`"labels":["bug"]`, `"Repo_labels":null`, `"User_labels":"none"`, `"Repo_author":{"name":null,"title":3}`, `"same":"u"`,
		},
		"box":   {`"title":3`, `"Repo_title_":"a repo"`},
		"named": {`"name":"it"`},
	}
	for _, tool := range tools {
		text := call(t, out, tool, `{}`)
		for _, part := range want[tool.Name] {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %s in %s\n%v", tool.Name, part, text, tool.Template.Body["query"])
			}
		}
	}
}
