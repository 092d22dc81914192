package graphql_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	gophers "github.com/graph-gophers/graphql-go"
	"github.com/graph-gophers/graphql-go/relay"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
	"github.com/windlass-dev/windlass/services/registry/graphql"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// sdl is the schema of a real GraphQL server.
const sdl = `
type Query {
	"Returns a pet by its id."
	pet(id: ID!): Pet
	pets(filter: Filter, first: Int! = 10, kind: Kind): PetPage!
	old: String @deprecated(reason: "Use pet.")
	anything: [Thing!]!
}
type Mutation { addPet(pet: NewPet!): Pet!  fail: Pet }
enum Kind { CAT DOG }
input Filter { name: String, and: [Filter!] }
input NewPet { name: String!, kind: Kind! }
union Thing = Pet | Owner
type Owner { name: String! pets: [Pet!]! }
type Pet { id: ID! name: String! kind: Kind! owner: Owner friends(first: Int!): [Pet!]! }
type PetPage { edges: [Edge!]! total: Int! }
type Edge { node: Pet! }
`

type root struct{}

type pet struct {
	ID    gophers.ID
	Name  string
	Kind  string
	Owner *owner
}

func (pet) Friends(struct{ First int32 }) []pet { return nil }

type owner struct {
	Name string
	Pets []pet
}

type thing struct{ v any }

func (t thing) ToPet() (*pet, bool)     { v, ok := t.v.(*pet); return v, ok }
func (t thing) ToOwner() (*owner, bool) { v, ok := t.v.(*owner); return v, ok }

type page struct {
	Edges []edge
	Total int32
}

type edge struct{ Node pet }

func tom(name string) *pet { return &pet{"1", name, "CAT", &owner{Name: "Ann"}} }

func (root) Pet(args struct{ ID gophers.ID }) *pet {
	if args.ID != "1" {
		return nil
	}
	return tom("Tom")
}

type filter struct {
	Name *string
	And  *[]filter
}

func (root) Pets(args struct {
	Filter *filter
	First  int32
	Kind   *string
},
) page {
	return page{Edges: []edge{{*tom(fmt.Sprint("first ", args.First))}}, Total: args.First}
}
func (root) Old() *string { return nil }
func (root) Anything() []thing {
	return []thing{{tom("Tom")}, {&owner{Name: "Ann"}}}
}

func (root) AddPet(args struct {
	Pet struct{ Name, Kind string }
},
) pet {
	return pet{"2", args.Pet.Name, args.Pet.Kind, nil}
}
func (root) Fail() (*pet, error) { return nil, fmt.Errorf("the shop is closed") }

// shop is a real GraphQL server.
func shop(t *testing.T) *httptest.Server {
	t.Helper()
	schema := gophers.MustParseSchema(sdl, &root{}, gophers.UseFieldResolvers(), gophers.UseStringDescriptions())
	server := httptest.NewServer(&relay.Handler{Schema: schema})
	t.Cleanup(server.Close)
	return server
}

func introspect(t *testing.T, url string) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]string{"query": graphql.Introspection})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return answer
}

func TestARealServer(t *testing.T) {
	server := shop(t)
	tools, skipped, err := graphql.Read(t.Context(), introspect(t, server.URL), graphql.Options{URL: server.URL, MaxOperations: 100})
	if err != nil || len(skipped) > 0 {
		t.Fatalf("%v, skipped %v", err, skipped)
	}
	byName := map[string]graphql.Tool{}
	for _, tool := range tools {
		byName[tool.Name] = tool
	}
	testwant.Equal(t, "tools: len", len(byName), 6)
	testwant.Equal(t, `tools: ["old"].Deprecated`, byName["old"].Deprecated, true)
	testwant.Equal(t, `tools: ["pet"].Description`, byName["pet"].Description, "Returns a pet by its id.")
	testwant.Equal(t, `tools: ["pet"].Reads`, byName["pet"].Reads, true)
	testwant.Equal(t, `tools: ["addPet"].Reads`, byName["addPet"].Reads, false)
	want := `{"$defs":{"Filter":{"additionalProperties":false,"properties":{"and":{"items":{"$ref":"#/$defs/Filter"},"type":"array"},` +
		`"name":{"type":"string"}},"type":"object"}},"additionalProperties":false,"properties":{"filter":{"$ref":"#/$defs/Filter"},` +
		`"first":{"maximum":2147483647,"minimum":-2147483648,"type":"integer"},"kind":{"enum":["CAT","DOG"],"type":"string"}},"type":"object"}`
	if got := string(byName["pets"].InputSchema); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	out, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.CloseIdle)
	for _, row := range []struct{ tool, arguments, want string }{
		{"pet", `{"id":"1"}`, `{"id":"1","name":"Tom","kind":"CAT","owner":{"name":"Ann"}}`},
		{"pet", `{"id":"2"}`, `null`},
		{"pets", `{}`, `{"total":10,"edges":[{"node":{"id":"1","name":"first 10","kind":"CAT"}}]}`},
		{
			"pets", `{"first":3,"filter":{"and":[{"name":"\"${args.x}"}]},"kind":"DOG"}`,
			`{"total":3,"edges":[{"node":{"id":"1","name":"first 3","kind":"CAT"}}]}`,
		},
		{
			"anything", `{}`,
			`[{"__typename":"Pet","id":"1","name":"Tom","kind":"CAT","owner":{"name":"Ann"}},{"__typename":"Owner","name":"Ann","pets":[]}]`,
		},
		{"addPet", `{"pet":{"name":"Rex","kind":"DOG"}}`, `{"id":"2","name":"Rex","kind":"DOG","owner":null}`},
		{"fail", `{}`, "error: The API answered with errors:\n" + `[{"message":"the shop is closed","path":["fail"]}]`},
	} {
		if got := call(t, out, byName[row.tool], row.arguments); got != row.want {
			t.Errorf("%s %s\ngot  %s\nwant %s\nquery %v", row.tool, row.arguments, got, row.want, byName[row.tool].Template.Body["query"])
		}
	}
}

func call(t *testing.T, out httpcall.Dialer, tool graphql.Tool, arguments string) string {
	t.Helper()
	args, err := canon.Parse([]byte(arguments))
	if err != nil {
		t.Fatal(err)
	}
	request := httpcall.Call{Maker: &tool.Template, Args: args, Hide: strings.Clone, Repeatable: tool.Reads}
	result, err := httpcall.Send(t.Context(), out, request)
	if err != nil {
		return err.Error()
	}
	shown := result.GetContent()[0].GetText()
	if result.GetIsError() {
		shown = "error: " + shown
	}
	return shown
}

// TestNumbersOfVariablesStayAsTheyAreWritten sends numbers that a double does not hold, and gets one back.
func TestNumbersOfVariablesStayAsTheyAreWritten(t *testing.T) {
	const long, variables = "9007199254740993", `{"id":9007199254740993,"list":[1e400,-0,3.14159265358979323846264338327950288]}`
	got := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":{"row":`+long+`}}`)
	}))
	t.Cleanup(server.Close)
	tools, _, err := graphql.Read(t.Context(), []byte(`{"data":{"__schema":{"queryType":{"name":"Q"},"types":[
		{"kind":"OBJECT","name":"Q","fields":[{"name":"row","args":[{"name":"id","type":{"kind":"SCALAR","name":"Long"}},
		{"name":"list","type":{"kind":"SCALAR","name":"Long"}}],"type":{"kind":"SCALAR","name":"Long"}}]},{"kind":"SCALAR","name":"Long"}]}}}`),
		graphql.Options{URL: server.URL, MaxOperations: 1})
	if err != nil {
		t.Fatal(err)
	}
	out, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.CloseIdle)
	if answer := call(t, out, tools[0], variables); answer != long || !strings.Contains(got, `"variables":`+variables) {
		t.Errorf("sent %s, answered %s", got, answer)
	}
}

// TestS9HostileSchemas: names become a part of our queries, and sizes of our work.
func TestS9HostileSchemas(t *testing.T) {
	schema := func(fields, types string) string {
		return `{"data":{"__schema":{"queryType":{"name":"Q"},"types":[{"kind":"OBJECT","name":"Q","fields":[` + fields +
			`]},{"kind":"SCALAR","name":"S"}` + types + `]}}}`
	}
	circle := strings.Builder{}
	for i := range 60 {
		fmt.Fprintf(&circle, `,{"kind":"OBJECT","name":"T%d","fields":[`, i)
		for j := range 60 {
			if j > 0 {
				circle.WriteString(",")
			}
			fmt.Fprintf(&circle, `{"name":"f%d","type":{"kind":"OBJECT","name":"T%d"}}`, j, j)
		}
		circle.WriteString(`]}`)
	}
	for _, row := range []struct{ name, answer, want string }{
		{"no JSON", `<html>`, "is not the JSON of GraphQL"},
		{"introspection is off", `{"errors":[{"message":"introspection is disabled"}]}`, "introspection is disabled"},
		{"nothing", `{}`, "it has no schema"},
		{"no fields", schema(``, ``), "no query or mutation is selected"},
		{"a name that is a query", schema(`{"name":"a} mutation{drop","type":{"kind":"SCALAR","name":"S"}}`, ``), "no query or mutation is selected"},
		{"a type that is not there", schema(`{"name":"a","type":{"kind":"SCALAR","name":"Z"}}`, ``), "no query or mutation is selected"},
		{"an argument that is a query", schema(`{"name":"a","args":[{"name":"x: 1) b(","type":{"kind":"SCALAR","name":"S"}}],
			"type":{"kind":"SCALAR","name":"S"}}`, ``), "no query or mutation is selected"},
		{"types of types", schema(`{"name":"a","type":{"kind":"OBJECT","name":"T0"}}`, circle.String()), ""},
		{"too many", schema(strings.TrimSuffix(strings.Repeat(`{"name":"a","type":{"kind":"SCALAR","name":"S"}},`, 3), ","), ``), "more than 2 operations"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tools, _, err := graphql.Read(context.WithoutCancel(t.Context()), []byte(row.answer), graphql.Options{URL: "http://x", MaxOperations: 2})
			if row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) || row.want == "" && err != nil {
				t.Errorf("got %v, %v, want %q", tools, err, row.want)
			}
			for _, tool := range tools {
				if query := fmt.Sprint(tool.Template.Body["query"]); len(query) > 5000 {
					t.Errorf("a query of %d bytes", len(query))
				}
			}
		})
	}
}
