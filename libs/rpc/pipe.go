package rpc

import (
	"context"
	"io"
	"sync"
)

// window is the number of bytes a pipe buffers before its sender blocks, as with HTTP/2's default flow control. One message always fits.
const window = 64 << 10

// pipe carries the messages of a stream in one direction, from one sender to one receiver.
type pipe struct {
	mu      sync.Mutex
	packets []packet
	bytes   int
	closed  bool
	// err is returned to the receiver after the last message.
	err error
	// more and room wake the receiver and the sender; each holds one signal.
	more, room chan struct{}
}

func newPipe() *pipe { return &pipe{more: make(chan struct{}, 1), room: make(chan struct{}, 1)} }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// send adds a message, and waits for room until ctx ends. It returns io.EOF if the pipe is closed.
func (p *pipe) send(ctx context.Context, m any) error {
	one, err := pack(m)
	if err != nil {
		return err
	}
	for {
		p.mu.Lock()
		switch {
		case p.closed:
			p.mu.Unlock()
			one.free()
			return io.EOF
		case p.bytes < window:
			p.packets = append(p.packets, one)
			p.bytes += one.size()
			p.mu.Unlock()
			wake(p.more)
			return nil
		}
		p.mu.Unlock()
		select {
		case <-p.room:
		case <-ctx.Done():
			one.free()
			return ctx.Err()
		}
	}
}

// receive returns the next message, and waits for it until ctx ends. After the last one it returns the error given to close.
func (p *pipe) receive(ctx context.Context, m any) error {
	for {
		p.mu.Lock()
		if len(p.packets) > 0 {
			one := p.packets[0]
			p.packets[0] = packet{}
			p.packets = p.packets[1:]
			p.bytes -= one.size()
			p.mu.Unlock()
			wake(p.room)
			return one.open(m)
		}
		closed, err := p.closed, p.err
		p.mu.Unlock()
		if closed {
			return err
		}
		select {
		case <-p.more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close closes the pipe: its messages can still be received, then err. Only the first close has an effect.
func (p *pipe) close(err error) {
	p.mu.Lock()
	if !p.closed {
		p.closed, p.err = true, err
	}
	p.mu.Unlock()
	wake(p.more)
	wake(p.room)
}
