package conversation_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// sameAsRead checks that a service that read earlier turns of the session reads what one does that knows nothing.
func sameAsRead(k *sessionstest.Kit, t store.Turn) {
	k.Helper()
	limit := []int{0, 0, 3000}[rand.IntN(3)]
	got := window(k, t, limit)
	cold := conversation.New(conversation.Config{}, k.Store)
	want, err := cold.Window(k.Ctx(), k.Read(t.ID), k.ReadSession(t.SessionID), limit)
	k.Must(err)
	same := len(got.Messages) == len(want.Messages) && got.Truncated == want.Truncated && got.Inputs == want.Inputs &&
		got.Compacted == want.Compacted
	for i := range got.Messages {
		same = same && proto.Equal(got.Messages[i], want.Messages[i])
	}
	if !same {
		k.Fatalf("limit %d: read %q, want %q", limit, said(got.Messages), said(want.Messages))
	}
	var tokens [2]int64
	k.Must(k.Write(t.ID, func(tx *journal.Tx, t *store.Turn) (err error) {
		if tokens[0], err = k.Conversations.ConversationTokens(tx, *t); err == nil {
			tokens[1], err = cold.ConversationTokens(tx, *t)
		}
		return err
	}))
	if tokens[0] != tokens[1] || tokens[0] == 0 {
		k.Fatalf("it has %d tokens, and %d when it is read as a whole", tokens[0], tokens[1])
	}
}

// talk makes turns, some with calls, some that waited, some that sum up what was said before them.
func talk(k *sessionstest.Kit, ses store.Session, n int, check func(store.Turn)) {
	k.Helper()
	var queued []store.Turn
	last := ""
	for i := range n {
		queued = append(queued, k.Turn(ses, fmt.Sprintf("question %d", i)))
		if i%7 == 3 && i < n-1 {
			continue // the next turns wait
		}
		for _, own := range queued {
			k.Begin(own, &turnv1.Surface{})
			check(own)
			if i%20 == 19 {
				compact(k, own, "compact-1", fmt.Sprintf("summary %d", i), last)
				check(own)
			}
			k.Answer(own, "infer-1", strings.Repeat("x", 10*i), call("c1"))
			result(k, own, "tool-1.1", "c1", "ok")
			check(own)
			last = k.Answer(own, "infer-2", fmt.Sprintf("answer %d", i)).Outcome.GetMessageId()
			k.Finish(k.Read(own.ID))
		}
		queued = nil
	}
}

func TestAConversationOfWhichAPartIsKnownIsReadAsAWhole(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{MaxQueued: 4})
	talk(k, k.Session(), 50, func(own store.Turn) { sameAsRead(k, own) })
}

func TestATruncatedConversationIsReadAsAWhole(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	for i := range 70 {
		own := k.Turn(ses, fmt.Sprintf("question %d", i))
		k.Begin(own, &turnv1.Surface{})
		sameAsRead(k, own)
		k.Answer(own, "infer-1", strings.Repeat("x", conversation.DefaultWindow/100)) // 30 kB
		k.Finish(k.Read(own.ID))
	}
	huge := k.Turn(ses, "one more")
	k.Begin(huge, &turnv1.Surface{})
	k.Answer(huge, "infer-1", strings.Repeat("y", conversation.DefaultWindow+1))
	k.Finish(k.Read(huge.ID))
	own := k.Turn(ses, "and now?")
	k.Begin(own, &turnv1.Surface{})
	sameAsRead(k, own)
}

// TestTheNextTurnReadsOnlyWhatIsNew counts allocations: a message takes some to be read.
func TestTheNextTurnReadsOnlyWhatIsNew(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	for i := range 100 {
		own := k.Turn(ses, fmt.Sprintf("question %d", i))
		k.Begin(own, &turnv1.Surface{})
		k.Answer(own, "infer-1", "answer")
		k.Finish(k.Read(own.ID))
	}
	own := k.Turn(ses, "and now?")
	k.Begin(own, &turnv1.Surface{})
	own, ses = k.Read(own.ID), k.ReadSession(ses.ID)
	read := func(s *conversation.Service) {
		if w, err := s.Window(k.Ctx(), own, ses, 0); err != nil || len(w.Messages) != 201 {
			t.Fatal(err, len(w.Messages))
		}
	}
	whole := testing.AllocsPerRun(3, func() { read(conversation.New(conversation.Config{}, k.Store)) })
	if next := testing.AllocsPerRun(3, func() { read(k.Conversations) }); next > whole/10 {
		t.Errorf("%.0f allocations, and %.0f when all is read", next, whole)
	}
}

// TestATurnOfALongSessionReadsNoMoreThanOneOfAShortOne counts allocations of all that a turn reads and writes: each row that is read takes
// some. Only lists of messages that are in memory grow.
func TestATurnOfALongSessionReadsNoMoreThanOneOfAShortOne(t *testing.T) {
	const long, measured = 500, 5
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	var counts, sizes []uint64 // of each turn
	var before, after runtime.MemStats
	for i := range long {
		counted := i < 10+measured || i >= long-measured
		if counted {
			runtime.ReadMemStats(&before)
		}
		own := k.Turn(ses, "question")
		k.Begin(own, &turnv1.Surface{})
		if w := window(k, k.Read(own.ID), 0); len(w.Messages) != 2*i+1 {
			t.Fatalf("turn %d reads %d messages", i, len(w.Messages))
		}
		k.Must(k.Write(own.ID, func(tx *journal.Tx, t *store.Turn) error {
			_, err := k.Conversations.ConversationTokens(tx, *t)
			return err
		}))
		k.Answer(own, "infer-1", "answer")
		k.Finish(k.Read(own.ID))
		if counted {
			runtime.ReadMemStats(&after)
		}
		counts, sizes = append(counts, after.Mallocs-before.Mallocs), append(sizes, after.TotalAlloc-before.TotalAlloc)
	}
	short, late := slices.Min(counts[10:10+measured]), slices.Min(counts[long-measured:])
	growth := int64(slices.Min(sizes[long-measured:])) - int64(slices.Min(sizes[10:10+measured]))
	if late > short+short/10 || growth > 2*long*256 {
		t.Errorf("turn %d allocates %d times, turn 10 %d times; it takes %d bytes more", long, late, short, growth)
	}
}

// BenchmarkWindow reads what a turn's model reads: with and without what earlier turns have read.
func BenchmarkWindow(b *testing.B) {
	for _, turns := range []int{10, 500} {
		k := sessionstest.New(b, sessionstest.Config{})
		ses := k.Session()
		for i := range turns {
			own := k.Turn(ses, fmt.Sprintf("question %d", i))
			k.Begin(own, &turnv1.Surface{})
			k.Answer(own, "infer-1", fmt.Sprintf("answer %d", i))
			k.Finish(k.Read(own.ID))
		}
		own := k.Turn(ses, "and now?")
		k.Begin(own, &turnv1.Surface{})
		own, ses = k.Read(own.ID), k.ReadSession(ses.ID)
		for name, service := range map[string]func() *conversation.Service{
			"first": func() *conversation.Service { return conversation.New(conversation.Config{}, k.Store) },
			"next":  func() *conversation.Service { return k.Conversations },
		} {
			b.Run(fmt.Sprintf("%s/turns=%d", name, turns), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := service().Window(k.Ctx(), own, ses, 0); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
