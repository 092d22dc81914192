package process

import (
	"io"
	"os"
	"testing"
	"time"
)

// TestNoTimerOutlivesTheProcess: a process that closed its output and exits in time is not waited for any longer.
func TestNoTimerOutlivesTheProcess(t *testing.T) {
	p, err := Start(Config{
		Path: os.Args[0], Env: []string{"CHILD=silent"}, Line: func(string) {}, MaxLine: 1000, WriteTimeout: time.Minute, Grace: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Reader().Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v", err)
	}
	if err := p.Writer().Close(); err != nil {
		t.Error(err)
	}
	<-p.Done()
	if p.killer.Stop() {
		t.Error("the timer runs on")
	}
}
