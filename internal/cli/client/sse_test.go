package client

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFrames(t *testing.T) {
	for _, tc := range []struct {
		name, stream string
		want         []string // name|id|data
	}{
		{"one event", "id: 1\nevent: a\ndata: x\n\n", []string{"a|1|x"}},
		{"comments and heartbeats", ": hello\n\n:\n\ndata: x\n\n", []string{"||x"}},
		{"retry alone is no event", "retry: 1000\n\ndata: x\n\n", []string{"||x"}},
		{"several data lines", "data: x\ndata: y\n\n", []string{"||x\ny"}},
		{"only one space is taken", "data:  x\n\ndata:y\n\n", []string{"|| x", "||y"}},
		{"carriage returns", "event: a\r\ndata: x\r\n\r\n", []string{"a||x"}},
		{"byte order mark", "\xef\xbb\xbfdata: x\n\n", []string{"||x"}},
		{"a name without data is dropped", "event: a\n\ndata: x\n\n", []string{"||x"}},
		{"an id with NUL is passed over", "id: 1\x00\ndata: x\n\n", []string{"||x"}},
		{"a frame cut off is dropped", "data: x\n\ndata: y\n", []string{"||x"}},
		{"nothing", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := newFrames(iotest.OneByteReader(strings.NewReader(tc.stream)))
			var got []string
			for {
				f, err := in.next()
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Fatal(err)
					}
					break
				}
				got = append(got, f.name+"|"+f.id+"|"+string(f.data))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("frames = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestFrameOfAnySizeUpToTheLimit(t *testing.T) {
	big := strings.Repeat("x", 5<<20)
	f, err := newFrames(strings.NewReader("data: " + big + "\n\n")).next()
	if err != nil || string(f.data) != big {
		t.Errorf("next = %d bytes, %v", len(f.data), err)
	}
	_, err = newFrames(io.MultiReader(strings.NewReader("data: "), endless(big))).next()
	if err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("next of an endless line = %v", err)
	}
}

type endless []byte

func (e endless) Read(p []byte) (int, error) {
	return copy(p, e), nil
}
