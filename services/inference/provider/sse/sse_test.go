package sse_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/services/inference/provider/sse"
)

func TestNext(t *testing.T) {
	for _, row := range []struct {
		name, stream string
		want         []string // "type|data"
	}{
		{"events", "event: a\ndata: 1\n\ndata: 2\n\n", []string{"a|1", "|2"}},
		{"a type without data is forgotten", "event: a\n\ndata: 1\n\n", []string{"|1"}},
		{"several data lines", "data: 1\ndata:\ndata: 2\n\n", []string{"|1\n\n2"}},
		{"a comment is a sign of life", ": hi\n\ndata: 1\n\n", []string{"|", "|1"}},
		{"a comment inside an event is nothing", "event: a\n: hi\ndata: 1\n: ho\n\n", []string{"a|1"}},
		{"CRLF", "data: 1\r\n\r\ndata: 2\r\n\r\n", []string{"|1", "|2"}},
		{"no end", "data: 1", []string{"|1"}},
		{"a field without colon", "data\n\n", []string{"|"}},
		{"only one space goes", "data:  1\n\n", []string{"| 1"}},
		{"unknown fields", "id: 7\nretry: 1\nfoo: bar\ndata: 1\n\n", []string{"|1"}},
		{"a byte order mark", "\ufeffdata: 1\n\n", []string{"|1"}},
		{"nothing", "\n\n\n", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := sse.NewReader(iotest.OneByteReader(strings.NewReader(row.stream)))
			var got []string
			for {
				e, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e.Type+"|"+string(e.Data))
			}
			if strings.Join(got, "~") != strings.Join(row.want, "~") {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestNextFails(t *testing.T) {
	gone := errors.New("gone")
	for _, row := range []struct {
		name string
		from io.Reader
		want error
	}{
		{"a line without end", strings.NewReader("data: " + strings.Repeat("x", sse.MaxEvent+1)), sse.ErrTooLong},
		{"data lines without end", strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 9)), sse.ErrTooLong},
		{"blank lines without end", strings.NewReader(strings.Repeat("\n", sse.MaxLines+1)), sse.ErrTooMany},
		{"fields that are not known", strings.NewReader(strings.Repeat("x\n", sse.MaxLines+1)), sse.ErrTooMany},
		{"no UTF-8", strings.NewReader("data: \xff\n\n"), sse.ErrEncoding},
		{"a connection that is lost", io.MultiReader(strings.NewReader("data: 1\n"), iotest.ErrReader(gone)), gone},
	} {
		if _, err := sse.NewReader(row.from).Next(); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
	}
}

func TestAStreamHasSoManyEvents(t *testing.T) {
	for name, event := range map[string]string{"events": "data:\n\n", "comments": ":\n"} {
		r := sse.NewReader(strings.NewReader(strings.Repeat(event, sse.MaxEvents+10)))
		n := 0
		for ; ; n++ {
			if _, err := r.Next(); errors.Is(err, sse.ErrTooMany) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if n != sse.MaxEvents {
			t.Errorf("%d %s", n, name)
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add("event: a\r\ndata: 1\n: x\n\ndata")
	f.Fuzz(func(t *testing.T, stream string) {
		r := sse.NewReader(strings.NewReader(stream))
		for n := 0; ; n++ {
			e, err := r.Next()
			if err != nil {
				return
			}
			if !utf8.Valid(e.Data) || n > len(stream) {
				t.Fatalf("event %d: %q", n, e.Data)
			}
		}
	})
}
