package httpcall_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
)

func TestTemplates(t *testing.T) {
	for _, row := range []struct {
		name, arguments string
		template        httpcall.Template
		want            string
	}{
		{
			"a path and a query", `{"id":"a/b","q":"x & y","n":3,"list":["a","b"],"o":{"k":1}}`,
			httpcall.Template{Method: "GET", Path: "/orders/${args.id}/x", Query: map[string]string{
				"q": "name is ${args.q}!", "n": "${args.n}", "list": "${args.list}", "o": "${args.o}", "gone": "${args.gone}", "fixed": "$${no} 1",
			}},
			"GET http://x/v1/orders/a%2Fb/x?fixed=%24%7Bno%7D%201&list=a&list=b&n=3&o=%7B%22k%22%3A1%7D&q=name%20is%20x%20%26%20y%21",
		},
		{
			"headers", `{"lang":"de"}`,
			httpcall.Template{Method: "GET", Path: "/", Headers: map[string]string{
				"Accept-Language": "${args.lang}, en", "X-Gone": "${args.gone}", "X-Fixed": "1",
			}},
			"GET http://x/v1/\nAccept-Language: de, en\nX-Fixed: 1",
		},
		{
			"a body", `{"a":"quo\"te","n":1.50,"list":[1],"o":{"deep":{"x":null}},"name":"Ann"}`,
			httpcall.Template{Method: "POST", Path: "/", Body: map[string]any{
				"a": "${args.a}", "n": "${args.n}", "text": "for \"${args.name}\"", "list": []any{"${args.list}", "${args.gone}", true},
				"x": "${args.o.deep.x}", "deep": "${args.o.deep}", "gone": "${args.gone}", "gone2": "a ${args.o.gone.more}", "fixed": 7.0,
			}},
			"POST http://x/v1/\nContent-Type: application/json\n\n" +
				`{"a":"quo\"te","deep":{"x":null},"fixed":7,"list":[[1],true],"n":1.50,"text":"for \"Ann\"","x":null}`,
		},
		{
			"a form", `{"a":"x y","list":[1,2]}`,
			httpcall.Template{Method: "POST", Path: "/", Form: map[string]string{"a": "${args.a}", "l": "${args.list}", "gone": "${args.gone}"}},
			"POST http://x/v1/\nContent-Type: application/x-www-form-urlencoded\n\na=x%20y&l=1&l=2",
		},
		{
			"XML", `{"name":"<b>&"}`,
			httpcall.Template{Method: "POST", Path: "/", Text: "<n>${args.name}${args.gone}</n>", MediaType: "application/xml"},
			"POST http://x/v1/\nContent-Type: application/xml\n\n<n>&lt;b&gt;&amp;</n>",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			args, err := canon.Parse([]byte(row.arguments))
			if err != nil {
				t.Fatal(err)
			}
			row.template.Base = "http://x/v1"
			got, err := requestText(t, &row.template, args)
			if err != nil || got != row.want {
				t.Errorf("got  %q, %v\nwant %q", got, err, row.want)
			}
		})
	}
}

func TestArgumentsOfTemplatesThatAreNotSent(t *testing.T) {
	template := &httpcall.Template{
		Method: "GET", Base: "http://x", Path: "/users/${args.id}", Headers: map[string]string{"X-H": "${args.h}"},
	}
	for arguments, want := range map[string]string{
		`{}`:                      "arguments/id: a value is required",
		`{"id":""}`:               "arguments/id: this value cannot be a part of a path",
		`{"id":".."}`:             "arguments/id: this value cannot be a part of a path",
		`{"id":"a","h":"x\r\nY"}`: "arguments/h: this value cannot be a header",
	} {
		args, err := canon.Parse([]byte(arguments))
		if err != nil {
			t.Fatal(err)
		}
		_, err = template.Request(t.Context(), args)
		if _, ok := errors.AsType[*httpcall.ArgumentError](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", arguments, err, want)
		}
	}
}

func TestTemplatesAreChecked(t *testing.T) {
	known := func(path string) error {
		if path != "id" {
			return errors.New("is no argument")
		}
		return nil
	}
	for want, template := range map[string]httpcall.Template{
		"":                            {Path: "/${args.id}"},
		"${args.x} is no argument":    {Body: map[string]any{"a": []any{"${args.x}"}}},
		"${env.HOME} is not known":    {Query: map[string]string{"a": "${env.HOME}"}},
		"has no closing brace":        {Text: "${args.id"},
		"${id} is no placeholder":     {Headers: map[string]string{"A": "${id}"}},
		"${args.id.x} is no argument": {Form: map[string]string{"A": "${args.id.x}"}},
	} {
		err := template.Check(known)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
