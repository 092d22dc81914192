package batch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/batch"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// sink keeps what is written, and fails as told.
type sink struct {
	mu     sync.Mutex
	groups [][]int
	failed []int
	fail   func(items []int) error
}

func (s *sink) config() batch.Config[int] {
	return batch.Config[int]{
		Write: func(_ context.Context, items []int) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.fail != nil {
				if err := s.fail(items); err != nil {
					return err
				}
			}
			s.groups = append(s.groups, slices.Clone(items))
			return nil
		},
		Failed: func(_ context.Context, item int, _ error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.failed = append(s.failed, item)
		},
	}
}

func (s *sink) written() [][]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.groups)
}

func (s *sink) all() []int { return slices.Concat(s.written()...) }

func add(t *testing.T, w *batch.Writer[int], from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := w.Add(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
}

func numbers(to int) (out []int) {
	for i := range to {
		out = append(out, i)
	}
	return out
}

func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		w := batch.New(s.config())
		add(t, w, 0, 20)
		if got := s.written(); len(got) != 0 {
			t.Errorf("written at once: %v", got)
		}
		time.Sleep(11 * time.Millisecond)
		synctest.Wait()
		if got := s.written(); len(got) != 1 || !slices.Equal(s.all(), numbers(20)) {
			t.Errorf("after the delay: %v", got)
		}
		add(t, w, 20, 30)
		if err := w.Flush(t.Context()); err != nil || !slices.Equal(s.all(), numbers(30)) {
			t.Errorf("Flush = %v, written %v", err, s.written())
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Errorf("nothing to flush: %v", err)
		}
	})
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, release := &sink{}, make(chan struct{})
		cfg := s.config()
		write := cfg.Write
		cfg.Items, cfg.Write = 2, func(ctx context.Context, items []int) error {
			<-release
			return write(ctx, items)
		}
		w := batch.New(cfg)
		add(t, w, 0, 8)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Add(ctx, 8); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a full writer: %v", err)
		}
		if w.TryAdd(t.Context(), 8) {
			t.Error("a full writer took an item")
		}
		if err := w.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a flush that must wait: %v", err)
		}
		close(release)
		if err := w.Flush(t.Context()); err != nil || !slices.Equal(s.all(), numbers(8)) || len(s.written()) != 4 {
			t.Errorf("Flush = %v, written %v", err, s.written())
		}
		if !w.TryAdd(t.Context(), 8) || w.Flush(t.Context()) != nil || !slices.Equal(s.all(), numbers(9)) {
			t.Errorf("a writer with room wrote %v", s.written())
		}
	})
}

func TestFailures(t *testing.T) {
	errBad, errAway := errors.New("bad item"), errors.New("away")
	synctest.Test(t, func(t *testing.T) {
		s, calls := &sink{}, 0
		s.fail = func(items []int) error {
			calls++
			switch {
			case slices.Contains(items, 3):
				return errBad
			case calls < 6:
				return errAway
			}
			return nil
		}
		cfg := s.config()
		cfg.Permanent = func(err error) bool { return errors.Is(err, errBad) }
		w := batch.New(cfg)
		add(t, w, 0, 5)
		if err := w.Flush(t.Context()); err != nil || !slices.Equal(s.all(), []int{0, 1, 2, 4}) || !slices.Equal(s.failed, []int{3}) {
			t.Errorf("Flush = %v, written %v, failed %v", err, s.all(), s.failed)
		}
		s.fail = func([]int) error { return errAway }
		add(t, w, 10, 12)
		begin := time.Now()
		if err := w.Flush(t.Context()); err != nil || !slices.Equal(s.failed, []int{3, 10, 11}) || time.Since(begin) > 20*time.Second {
			t.Errorf("Flush = %v after %s, failed %v", err, time.Since(begin), s.failed)
		}
	})
}

func TestManyWriters(t *testing.T) {
	s := &sink{}
	w := batch.New(s.config())
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 500 {
				if err := w.Add(t.Context(), n*500+i); err != nil {
					t.Error(err)
				}
				if i%100 == 0 {
					if err := w.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := s.all()
	slices.Sort(got)
	if !slices.Equal(got, numbers(4000)) {
		t.Errorf("%d items written", len(got))
	}
}
