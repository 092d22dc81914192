package top

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/libs/testmain"
)

var frame = Frame{
	Head: []string{"windlass"},
	Tables: []Table{
		{Title: "TURNS", Header: []string{"ID", "STATUS"}, Rows: [][]string{{"trn_1", "running"}, {"trn_2", "waiting\x1b[2J"}}, More: true},
		{Title: "WAITS", Header: []string{"ID"}},
	},
}

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestAFrameIsText(t *testing.T) {
	var out bytes.Buffer
	if err := Once(&out, frame, nil); err != nil {
		t.Fatal(err)
	}
	want := "windlass\n\nTURNS: 2 and more\nID     STATUS\ntrn_1  running\ntrn_2  waiting\n\nWAITS: 0\n"
	if got := strings.ReplaceAll(out.String(), "[2J", ""); !strings.HasPrefix(got, want[:60]) || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%q", out.String())
	}
}

func TestAScreenIsNotExceeded(t *testing.T) {
	for _, row := range []struct {
		text          string
		width, height int
		want          string
	}{
		{"abc\nde\n", 80, 24, home + "abc" + eraseRight + "\nde" + eraseRight + eraseBelow},
		{"abc\nde\nf\n", 2, 2, home + "ab\x1b[0m" + eraseRight + "\nde" + eraseRight + eraseBelow},
		{"\x1b[31mré\x1b[0ms\n", 2, 1, home + "\x1b[31mré\x1b[0m\x1b[0m" + eraseRight + eraseBelow},
	} {
		if got := fit(row.text, row.width, row.height); got != row.want {
			t.Errorf("fit(%q, %d, %d) = %q, want %q", row.text, row.width, row.height, got, row.want)
		}
	}
}

func TestAServerThatIsAwayIsTold(t *testing.T) {
	var out bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	reads := 0
	err := Run(ctx, &app.App{Out: &out}, time.Nanosecond, func(context.Context) (Frame, error) {
		reads++
		switch reads {
		case 2:
			return Frame{}, errors.New("it is away")
		case 4:
			stop()
		}
		return frame, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	screens := strings.Split(out.String(), home)
	if len(screens) < 4 || strings.Contains(screens[1], "away") || !strings.Contains(screens[2], "it is away") ||
		!strings.Contains(screens[2], "trn_1") || strings.Contains(screens[3], "away") {
		t.Errorf("%q", screens)
	}
	if !strings.HasPrefix(out.String(), enter) || !strings.HasSuffix(out.String(), leave) {
		t.Errorf("the screen is not given back: %q", out.String())
	}
	if err := Run(t.Context(), &app.App{Out: &out}, time.Second, func(context.Context) (Frame, error) { return Frame{}, errors.New("no") },
		nil); err == nil {
		t.Error("the first read may fail")
	}
}
