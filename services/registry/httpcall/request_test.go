package httpcall_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
)

// request returns the request as text: method, target, headers but Accept, and body.
func request(t *testing.T, op httpcall.Operation, arguments string) (string, error) {
	t.Helper()
	args, err := canon.Parse([]byte(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return requestText(t, &op, args)
}

func requestText(t *testing.T, m httpcall.Maker, args canon.Object) (string, error) {
	t.Helper()
	r, err := m.Request(t.Context(), args)
	if err != nil {
		return "", err
	}
	lines := []string{r.Method + " " + r.URL.String()}
	var headers []string
	for name := range r.Header {
		if name != "Accept" {
			headers = append(headers, name+": "+r.Header.Get(name))
		}
	}
	slices.Sort(headers)
	lines = append(lines, headers...)
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, "", strings.ReplaceAll(string(body), "\r\n", "\n"))
	}
	return strings.Join(lines, "\n"), nil
}

// TestStyles has the examples of the OpenAPI Specification 3.1.1, section 4.8.12.6, with the members of objects by name.
func TestStyles(t *testing.T) {
	const (
		empty  = `{"color":""}`
		text   = `{"color":"blue"}`
		array  = `{"color":["blue","black","brown"]}`
		object = `{"color":{"R":100,"G":200,"B":150}}`
	)
	for _, row := range []struct {
		style     string
		explode   bool
		arguments string
		want      string
	}{
		{httpcall.Matrix, false, empty, ";color"},
		{httpcall.Matrix, false, text, ";color=blue"},
		{httpcall.Matrix, false, array, ";color=blue,black,brown"},
		{httpcall.Matrix, false, object, ";color=B,150,G,200,R,100"},
		{httpcall.Matrix, true, array, ";color=blue;color=black;color=brown"},
		{httpcall.Matrix, true, object, ";B=150;G=200;R=100"},
		{httpcall.Label, false, text, ".blue"},
		{httpcall.Label, false, array, ".blue,black,brown"},
		{httpcall.Label, false, object, ".B,150,G,200,R,100"},
		{httpcall.Label, true, array, ".blue.black.brown"},
		{httpcall.Label, true, object, ".B=150.G=200.R=100"},
		{httpcall.Simple, false, text, "blue"},
		{httpcall.Simple, false, array, "blue,black,brown"},
		{httpcall.Simple, false, object, "B,150,G,200,R,100"},
		{httpcall.Simple, true, object, "B=150,G=200,R=100"},
		{httpcall.Form, true, empty, "color="},
		{httpcall.Form, false, text, "color=blue"},
		{httpcall.Form, false, array, "color=blue,black,brown"},
		{httpcall.Form, false, object, "color=B,150,G,200,R,100"},
		{httpcall.Form, true, array, "color=blue&color=black&color=brown"},
		{httpcall.Form, true, object, "B=150&G=200&R=100"},
		{httpcall.SpaceDelimited, false, array, "color=blue%20black%20brown"},
		{httpcall.SpaceDelimited, false, object, "color=B%20150%20G%20200%20R%20100"},
		{httpcall.PipeDelimited, false, array, "color=blue%7Cblack%7Cbrown"},
		{httpcall.PipeDelimited, false, object, "color=B%7C150%7CG%7C200%7CR%7C100"},
		{httpcall.DeepObject, true, object, "color%5BB%5D=150&color%5BG%5D=200&color%5BR%5D=100"},
		{httpcall.DeepObject, true, `{"color":{"a":{"b":[1,2]},"c":null}}`, "color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2"},
		// What follows is not in the specification's table.
		{httpcall.Form, true, `{"color":null}`, ""},
		{httpcall.Form, true, `{"color":[]}`, ""},
		{httpcall.Form, true, `{"color":[{"a":1},"é&=+ /"]}`, "color=%7B%22a%22%3A1%7D&color=%C3%A9%26%3D%2B%20%2F"},
		{httpcall.Form, false, `{"color":12345678901234567890}`, "color=12345678901234567890"},
		{httpcall.Form, false, `{"color":true}`, "color=true"},
		{"", false, object, "color=%7B%22B%22%3A150%2C%22G%22%3A200%2C%22R%22%3A100%7D"},
		{httpcall.Simple, false, `{"color":"a/b?c#d e%"}`, "a%2Fb%3Fc%23d%20e%25"},
	} {
		t.Run(fmt.Sprintf("%s explode %v %s", row.style, row.explode, row.arguments), func(t *testing.T) {
			p := httpcall.Parameter{Argument: "color", Name: "color", In: httpcall.InQuery, Style: row.style, Explode: row.explode}
			op, want := httpcall.Operation{Method: "GET", URL: "http://x/c"}, "GET http://x/c?"+row.want
			switch row.style {
			case httpcall.Matrix, httpcall.Label, httpcall.Simple:
				p.In, op.URL, want = httpcall.InPath, "http://x/{color}", "GET http://x/"+row.want
			}
			op.Parameters = []httpcall.Parameter{p}
			got, err := request(t, op, row.arguments)
			if err != nil || got != strings.TrimSuffix(want, "?") {
				t.Errorf("got  %s, %v\nwant %s", got, err, want)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	param := func(name, in, style string, explode bool) httpcall.Parameter {
		return httpcall.Parameter{Argument: name, Name: name, In: in, Style: style, Explode: explode}
	}
	body := func(media string, parts map[string]httpcall.Part) *httpcall.Body {
		return &httpcall.Body{Argument: "body", MediaType: media, Parts: parts}
	}
	for _, row := range []struct {
		name, arguments string
		op              httpcall.Operation
		want            string
	}{
		{
			name: "a query of the document", arguments: `{"q":"a b"}`,
			op: httpcall.Operation{
				Method: "GET", URL: "http://x/c?beta=true", Parameters: []httpcall.Parameter{param("q", "query", "form", true)},
			},
			want: "GET http://x/c?beta=true&q=a%20b",
		},
		{
			name: "reserved characters", arguments: `{"q":"a/b?c=d&e+f#g[h]%41:@"}`,
			op: httpcall.Operation{Method: "GET", URL: "http://x/c", Parameters: []httpcall.Parameter{
				{Argument: "q", Name: "q", In: "query", Style: "form", Reserved: true},
			}},
			want: "GET http://x/c?q=a/b?c%3Dd%26e%2Bf%23g%5Bh%5D%2541:@",
		},
		{
			name: "headers and cookies", arguments: `{"X-Ids":[1,2],"X-Map":{"a":1},"sid":"a;b","list":["x","y"]}`,
			op: httpcall.Operation{Method: "GET", URL: "http://x/c", Parameters: []httpcall.Parameter{
				param("X-Ids", "header", "simple", false), param("X-Map", "header", "simple", true), param("sid", "cookie", "form", true),
				param("list", "cookie", "form", false),
			}},
			want: "GET http://x/c\nCookie: sid=a%3Bb; list=x,y\nX-Ids: 1,2\nX-Map: a=1",
		},
		{
			name: "JSON", arguments: `{"body":{"b":1.10,"a":[null,"<é>"]}}`,
			op:   httpcall.Operation{Method: "POST", URL: "http://x/c", Body: body("application/json", nil)},
			want: "POST http://x/c\nContent-Type: application/json\n\n{\"a\":[null,\"<é>\"],\"b\":1.10}",
		},
		{
			name: "JSON null", arguments: `{"body":null}`,
			op:   httpcall.Operation{Method: "POST", URL: "http://x/c", Body: body("application/merge-patch+json", nil)},
			want: "POST http://x/c\nContent-Type: application/merge-patch+json\n\nnull",
		},
		{
			name: "no body", arguments: `{}`, op: httpcall.Operation{Method: "POST", URL: "http://x/c", Body: body("application/json", nil)},
			want: "POST http://x/c",
		},
		{
			name: "a form", arguments: `{"body":{"id":"a b","tags":["x","y"],"address":{"zip":"1"},"csv":[1,2],"deep":{"a":1},"none":null}}`,
			op: httpcall.Operation{Method: "POST", URL: "http://x/c", Body: body(httpcall.FormURLEncoded, map[string]httpcall.Part{
				"csv": {Style: "form"}, "deep": {Style: "deepObject", Explode: true},
			})},
			want: "POST http://x/c\nContent-Type: application/x-www-form-urlencoded\n\n" +
				"address=%7B%22zip%22%3A%221%22%7D&csv=1,2&deep%5Ba%5D=1&id=a%20b&tags=x&tags=y",
		},
		{
			name: "parts", arguments: `{"body":{"id":7,"meta":{"a":1},"tags":["x","y"],
				"pic":{"filename":"a \"b\".png","media_type":"image/png","base64":"AAEC"},"note":{"text":"hi"}}}`,
			op: httpcall.Operation{Method: "POST", URL: "http://x/c", Body: body(httpcall.FormData, map[string]httpcall.Part{
				"pic": {File: true}, "note": {File: true, MediaType: "text/plain"},
			})},
			want: "POST http://x/c\nContent-Type: multipart/form-data; boundary=B\n\n" +
				"--B\nContent-Disposition: form-data; name=\"id\"\n\n7\n" +
				"--B\nContent-Disposition: form-data; name=\"meta\"\nContent-Type: application/json\n\n{\"a\":1}\n" +
				"--B\nContent-Disposition: form-data; name=\"note\"; filename=\"file\"\nContent-Type: text/plain\n\nhi\n" +
				"--B\nContent-Disposition: form-data; name=\"pic\"; filename=\"a \\\"b\\\".png\"\nContent-Type: image/png\n\n\x00\x01\x02\n" +
				"--B\nContent-Disposition: form-data; name=\"tags\"\n\nx\n--B\nContent-Disposition: form-data; name=\"tags\"\n\ny\n--B--\n",
		},
		{
			name: "bytes", arguments: `{"body":"AAEC"}`,
			op:   httpcall.Operation{Method: "PUT", URL: "http://x/c", Body: &httpcall.Body{Argument: "body", MediaType: "image/png", Base64: true}},
			want: "PUT http://x/c\nContent-Type: image/png\n\n\x00\x01\x02",
		},
		{
			name: "text", arguments: `{"body":"<a/>"}`,
			op:   httpcall.Operation{Method: "PUT", URL: "http://x/c", Body: body("application/xml", nil)},
			want: "PUT http://x/c\nContent-Type: application/xml\n\n<a/>",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := request(t, row.op, row.arguments)
			if _, after, ok := strings.Cut(got, "boundary="); ok {
				boundary, _, _ := strings.Cut(after, "\n")
				got = strings.ReplaceAll(got, boundary, "B")
			}
			if err != nil || got != row.want {
				t.Errorf("got  %q, %v\nwant %q", got, err, row.want)
			}
		})
	}
}

// TestTheSamePartsAreTheSameBytes: a repeated request is the same request, for APIs that compare what comes under one key.
func TestTheSamePartsAreTheSameBytes(t *testing.T) {
	op := httpcall.Operation{Method: "POST", URL: "http://x/c", Body: &httpcall.Body{Argument: "body", MediaType: httpcall.FormData}}
	one, err := request(t, op, `{"body":{"b":1,"a":2}}`)
	two, again := request(t, op, `{"body":{"a":2,"b":1}}`)
	if err != nil || again != nil || one != two {
		t.Errorf("%v, %v:\n%s\n%s", err, again, one, two)
	}
}

// TestArgumentsThatAreNotSent: a value must not make the request another one than the operation's.
func TestArgumentsThatAreNotSent(t *testing.T) {
	op := httpcall.Operation{
		Method: http.MethodPost, URL: "http://x/users/{id}/keys",
		Parameters: []httpcall.Parameter{
			{Argument: "id", Name: "id", In: "path", Style: "simple"}, {Argument: "h", Name: "X-H", In: "header", Style: "simple"},
		},
		Body: &httpcall.Body{Argument: "body", MediaType: httpcall.FormData, Parts: map[string]httpcall.Part{"f": {File: true}}},
	}
	for _, row := range []struct{ arguments, want string }{
		{`{}`, "arguments/id: a value is required"},
		{`{"id":null}`, "arguments/id: a value is required"},
		{`{"id":""}`, "arguments/id: this value cannot be a part of a path"},
		{`{"id":".."}`, "arguments/id: this value cannot be a part of a path"},
		{`{"id":"."}`, "arguments/id: this value cannot be a part of a path"},
		{`{"id":"a","h":"x\r\nX-Admin: 1"}`, "arguments/h: this value cannot be a header"},
		{`{"id":"a","body":"x"}`, "arguments/body: an object is required"},
		{`{"id":"a","body":{"f":{}}}`, "arguments/body/f: give either text or base64"},
		{`{"id":"a","body":{"f":{"base64":"%"}}}`, "arguments/body/f: base64 is not base64"},
		{`{"id":"a","body":{"f":{"text":"x","media_type":"a/b\r\nX: y"}}}`, "arguments/body/f: media_type is not a media type"},
	} {
		_, err := request(t, op, row.arguments)
		if _, ok := errors.AsType[*httpcall.ArgumentError](err); !ok || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %s", row.arguments, err, row.want)
		}
	}
	got, err := request(t, op, `{"id":"../../admin?x=1#"}`)
	if err != nil || got != "POST http://x/users/..%2F..%2Fadmin%3Fx%3D1%23/keys" {
		t.Errorf("escaped: %s, %v", got, err)
	}
}
