package sse_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/windlass-dev/windlass/libs/sse"
)

const kib = 1 << 10

func TestNext(t *testing.T) {
	for _, row := range []struct {
		name, stream string
		want         []string // "type|id|data"
	}{
		{"events", "event: a\nid: 1\ndata: x\n\ndata: y\n\n", []string{"a|1|x", "||y"}},
		{"a type without data is dropped", "id: 1\nevent: a\n\ndata: x\n\n", []string{"||x"}},
		{"several data lines", "data: x\ndata:\ndata: y\n\n", []string{"||x\n\ny"}},
		{"a comment", ": hi\n\n:\ndata: x\n\n", []string{"||x"}},
		{"a comment inside an event", "event: a\n: hi\ndata: x\n: ho\n\n", []string{"a||x"}},
		{"a pause alone is no event", "retry: 1000\n\ndata: x\n\n", []string{"||x"}},
		{"CRLF", "event: a\r\ndata: x\r\n\r\ndata: y\r\n\r\n", []string{"a||x", "||y"}},
		{"a field without colon", "data\n\n", []string{"||"}},
		{"only one space is taken", "data:  x\n\ndata:y\n\n", []string{"|| x", "||y"}},
		{"unknown fields", "foo: bar\ndata: x\n\n", []string{"||x"}},
		{"a byte order mark", "\ufeffdata: x\n\n\ufeffdata: y\n\n", []string{"||x"}},
		{"an id with NUL is passed over", "id: 1\x00\ndata: x\n\n", []string{"||x"}},
		{"an unfinished event is dropped", "data: x\n\ndata: y\n", []string{"||x"}},
		{"an unfinished line is dropped", "data: x\n\ndata: y", []string{"||x"}},
		{"blank lines", "\n\n\n", nil},
		{"nothing", "", nil},
	} {
		t.Run(row.name, func(t *testing.T) { check(t, row.stream, sse.Config{MaxEvent: kib}, row.want) })
	}
}

func TestNextReportsWhatIsAskedFor(t *testing.T) {
	comments, unfinished := sse.Config{MaxEvent: kib, Comments: true}, sse.Config{MaxEvent: kib, Unfinished: true}
	for _, row := range []struct {
		name, stream string
		cfg          sse.Config
		want         []string
	}{
		{"a comment is a sign of life", ": hi\n\ndata: x\n\n", comments, []string{"||", "||x"}},
		{"a comment inside an event is nothing", "event: a\n: hi\ndata: x\n: ho\n\nid: 1\n: hi\ndata: y\n\n", comments, []string{"a||x", "|1|y"}},
		{"an unfinished event", "data: x\n\ndata: y\n", unfinished, []string{"||x", "||y"}},
		{"an unfinished line", "data: x", unfinished, []string{"||x"}},
		{"an unfinished type", "event: x", unfinished, nil},
	} {
		t.Run(row.name, func(t *testing.T) { check(t, row.stream, row.cfg, row.want) })
	}
}

func check(t *testing.T, stream string, cfg sse.Config, want []string) {
	t.Helper()
	r := sse.NewReader(iotest.OneByteReader(strings.NewReader(stream)), cfg)
	var got []string
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Type+"|"+e.ID+"|"+string(e.Data))
	}
	if strings.Join(got, "~") != strings.Join(want, "~") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNextFails(t *testing.T) {
	gone := errors.New("gone")
	cfg := sse.Config{MaxEvent: 10 * kib, MaxEvents: 100, MaxLines: 1000}
	for _, row := range []struct {
		name string
		from io.Reader
		want error
	}{
		{"data that is too long", strings.NewReader("data: " + strings.Repeat("x", 10*kib+1) + "\n\n"), sse.ErrTooLong},
		{"a line without end", endless("x"), sse.ErrTooLong},
		{"data lines without end", endless("data: xxxxxxxxxxxxxxxxxxxxxxx\n"), sse.ErrTooLong},
		{"blank lines without end", endless("\n"), sse.ErrTooMany},
		{"unknown fields without end", endless("x\n"), sse.ErrTooMany},
		{"types without end", endless("event: x\n\n"), sse.ErrTooMany},
		{"a connection that is lost", io.MultiReader(strings.NewReader("data: x\n"), iotest.ErrReader(gone)), gone},
	} {
		if _, err := sse.NewReader(row.from, cfg).Next(); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
	}
}

func TestAnEventOfAnySizeUpToTheBound(t *testing.T) {
	big := strings.Repeat("x", 5<<20)
	e, err := sse.NewReader(strings.NewReader("data: "+big+"\r\n\r\n"), sse.Config{MaxEvent: len(big)}).Next()
	if err != nil || string(e.Data) != big {
		t.Errorf("%d bytes, %v", len(e.Data), err)
	}
}

func TestAStreamHasSoManyEvents(t *testing.T) {
	const most = 100
	for name, event := range map[string]string{"events": "data:\n\n", "comments": ":\n"} {
		for limit, want := range map[int]int{most: most, 0: most + 10} {
			r := sse.NewReader(strings.NewReader(strings.Repeat(event, most+10)), sse.Config{MaxEvent: kib, MaxEvents: limit, Comments: true})
			n := 0
			var err error
			for ; err == nil; n++ {
				_, err = r.Next()
			}
			if n-1 != want || errors.Is(err, sse.ErrTooMany) != (limit > 0) {
				t.Errorf("limit %d: %d %s, %v", limit, n-1, name, err)
			}
		}
	}
}

func TestMore(t *testing.T) {
	r := sse.NewReader(strings.NewReader("data: x\n\ndata: y\r\n\r\ndata: z\n"), sse.Config{MaxEvent: kib})
	var got []bool
	for {
		got = append(got, r.More())
		if _, err := r.Next(); err != nil {
			break
		}
	}
	if want := []bool{false, true, false}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzNext(f *testing.F) {
	f.Add("event: a\r\nid: 1\ndata: x\n: y\n\ndata")
	f.Fuzz(func(t *testing.T, stream string) {
		r := sse.NewReader(strings.NewReader(stream), sse.Config{MaxEvent: kib, Comments: true, Unfinished: true})
		for n := 0; ; n++ {
			e, err := r.Next()
			if err != nil {
				return
			}
			if len(e.Data) > kib || n > len(stream) {
				t.Fatalf("event %d: %q", n, e.Data)
			}
		}
	})
}

// endless repeats a text.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}
