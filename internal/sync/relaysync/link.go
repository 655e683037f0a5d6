package relaysync

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/unsolicited"
	"github.com/graspd/graspd/internal/sync/relayconn"
)

// Bounds of one connection.
const (
	outboxBound  = 256              // frames that may wait to be written
	writeTimeout = 20 * time.Second // how long writing one frame may take
)

// link is one open connection with its reader, its writer, its pinger and its loads.
type link struct {
	conn    Conn
	asked   *asked
	source  *ingest.Source
	out     chan []byte
	auth    nostr.ID                    // the id of the AUTH event that was sent; owned by the shell
	frames  atomic.Uint64               // frames read
	sent    atomic.Uint64               // frames sent
	longest atomic.Int64                // bytes of the longest of them; only the shell changes it
	replies unsolicited.Replies         // owned by the reader
	busy    atomic.Bool                 // the reader is handling a frame, perhaps waiting for the door, and sees no pong
	load    func(func(context.Context)) // runs functions in a goroutine that the end of the connection cancels; one after the other, so that a test can repeat a run
	cancel  context.CancelCauseFunc
}

var (
	errOutbox  = errors.New("relay does not take what it is sent")
	errNoPong  = errors.New("no answer to two pings")
	errHungUp  = errors.New("closed by this relay")
	errStopped = errors.New("stopped")
)

// open starts the goroutines of a connection, which p.running counts. The inbox gets peer.Disconnected once, when the reader ends;
// verdicts on the connection's events may come later.
func (p *shell) open(ctx context.Context, conn Conn) *link {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &link{
		conn: conn, asked: newAsked(), out: make(chan []byte, outboxBound), cancel: cancel,
		replies: unsolicited.NewReplies(p.now()),
		source:  p.engine.cfg.Door.Source(ingest.SourceConfig{Label: string(p.url), Party: p.party}),
	}
	conn.SetParty(p.party)
	last := closed
	l.load = func(read func(context.Context)) {
		before, done := last, make(chan struct{})
		last = done
		l.helper(p, func() {
			defer close(done)
			<-before
			read(ctx)
		})
	}
	p.running.Go(func() {
		l.cancel(p.contained(func() error { return l.write(ctx) })) // before Close, so that the error of write is the cause
		_ = p.contained(func() error { return l.conn.Close(closeReason(ctx)) })
	})
	l.helper(p, func() { l.ping(ctx, p.inbox, p.engine.cfg.PingEvery) })
	p.running.Go(func() {
		err := p.contained(func() error { return l.read(ctx, p) })
		l.cancel(err)
		l.source.Close()
		p.inbox.push(l, l.ended(context.Cause(ctx), err))
	})
	return l
}

// tooLong is the code of a close frame for a message that is too long (RFC 6455, 7.4.1).
const tooLong = 1009

// ended says how the connection has ended: by cause, and the reader by err, which shows what the relay said last.
func (l *link) ended(cause, err error) peer.Disconnected {
	d := peer.Disconnected{Reason: cause.Error(), Flood: errors.Is(cause, relayconn.ErrFlood)}
	if c, ok := errors.AsType[*relayconn.ClosedError](err); ok && c.Code == tooLong {
		d.TooLong = int(l.longest.Load())
	}
	return d
}

// helper runs a part of the connection's work in a goroutine. A fault in work ends the connection.
func (l *link) helper(p *shell, work func()) {
	p.running.Go(func() {
		if err := p.contained(func() error { work(); return nil }); err != nil {
			l.cancel(err)
		}
	})
}

func closeReason(ctx context.Context) string {
	if err := context.Cause(ctx); errors.Is(err, errHungUp) || errors.Is(err, errStopped) {
		return err.Error()
	}
	return "going away"
}

// send queues a frame. It never waits: a relay that does not read loses its connection.
func (l *link) send(frame []byte) {
	select {
	case l.out <- frame:
		l.sent.Add(1)
		l.longest.Store(max(l.longest.Load(), int64(len(frame))))
	default:
		l.cancel(errOutbox)
	}
}

// write sends queued frames until the connection ends. Its caller then closes the connection, which ends the reader.
func (l *link) write(ctx context.Context) error {
	for {
		select {
		case b := <-l.out:
			wctx, cancel := context.WithTimeout(ctx, writeTimeout)
			err := l.conn.Write(wctx, b)
			cancel()
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ping ends the connection when two pings in a row bring neither a pong nor any frame. While the reader is busy, a missing pong does not
// count.
func (l *link) ping(ctx context.Context, in *inbox, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for misses := 0; ; {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		before := l.frames.Load()
		pctx, cancel := context.WithTimeout(ctx, every)
		err := l.conn.Ping(pctx)
		cancel()
		switch {
		case err == nil:
			misses = 0
			in.push(l, peer.Alive{})
		case ctx.Err() != nil:
			return
		case l.busy.Load() || l.frames.Load() != before: // the pong may stand behind frames that the reader has not come to
			misses = 0
		default:
			if misses++; misses >= 2 {
				l.cancel(errNoPong)
				return
			}
		}
	}
}

// read handles frames in order. Events go to the door, which makes the reader wait while too many are undecided. Everything else goes to
// the shell.
func (l *link) read(ctx context.Context, p *shell) error {
	for {
		// The end of ctx does not interrupt Read: the writer closes the connection with a reason, and that ends Read.
		b, err := l.conn.Read(context.WithoutCancel(ctx))
		if err != nil && !errors.Is(err, relayconn.ErrBinary) && !errors.Is(err, relayconn.ErrTooLong) {
			return err
		}
		l.frames.Add(1)
		l.busy.Store(true)
		if err := l.frame(ctx, p, b, err); err != nil {
			return err
		}
		if err := p.useless.wait(ctx, p.now); err != nil {
			return err
		}
		l.busy.Store(false)
	}
}

// frame handles one frame, or the error of a frame that Read has dropped. It tells the shell of frames that nobody asked for.
func (l *link) frame(ctx context.Context, p *shell, b []byte, err error) error {
	var m nostr.RelayMessage
	if err == nil {
		m, err = nostr.ParseRelay(b)
	}
	var in peer.Input = peer.Frame{Message: m}
	if bad, ok := errors.AsType[*nostr.MessageError](err); ok && bad.Verb == "EVENT" && bad.HasID && bad.At > 0 {
		return l.unreadable(ctx, p, bad, len(b))
	}
	if err != nil {
		in = peer.Unasked{Count: 1}
	} else if ev, ok := m.(nostr.RelayEvent); ok {
		return l.event(ctx, p, ev)
	} else if !l.replies.Take(p.now(), l.sent.Load()) {
		in = peer.Unasked{Count: 1}
	} else if short, long := unsolicited.Shorten(m); long {
		p.inbox.push(l, peer.Unasked{Count: 1})
		if short == nil {
			return nil
		}
		in = peer.Frame{Message: short}
	}
	if !p.inbox.pushWaiting(ctx, l, in) {
		return ctx.Err()
	}
	return nil
}

// unreadable takes an answer that is no event: for the shell it is as good as forged.
func (l *link) unreadable(ctx context.Context, p *shell, bad *nostr.MessageError, size int) error {
	p.useless.charge(p.now(), costOf(size))
	var in peer.Input = peer.Unasked{Count: 1}
	switch q := l.asked.find(bad.Sub); {
	case q != nil && !q.over:
		p.inbox.push(l, peer.Received{Sub: bad.Sub, ID: bad.ID, At: bad.At})
		in = peer.Decided{Sub: bad.Sub, ID: bad.ID, Outcome: policy.Invalid}
	case q != nil && q.Classify(nil) != unsolicited.Unsolicited:
		return nil
	}
	if !p.inbox.pushWaiting(ctx, l, in) {
		return ctx.Err()
	}
	return nil
}

// event hands one event to the door, if somebody asked for it. The shell hears of the event first, and of the door's verdict later, which wakes it.
func (l *link) event(ctx context.Context, p *shell, m nostr.RelayEvent) error {
	q, answer, cost := l.asked.find(m.Sub), unsolicited.Unsolicited, cost(m.Event)
	p.useless.charge(p.now(), cost)
	if q != nil {
		answer = q.Classify(m.Event)
	}
	if answer != unsolicited.Expected {
		if answer == unsolicited.Unsolicited && !p.inbox.pushWaiting(ctx, l, peer.Unasked{Count: 1}) {
			return ctx.Err()
		}
		return nil
	}
	id, sub := m.Event.ID, m.Sub
	if !p.inbox.addWaiting(ctx, l, peer.Received{Sub: sub, ID: id, At: m.Event.CreatedAt}) {
		return ctx.Err()
	}
	return l.source.Submit(ctx, m.Event, q.source(), func(v policy.Verdict) {
		p.useless.decided(p.now(), cost, v)
		in := peer.Decided{Sub: sub, ID: id, Outcome: v.Outcome, Failed: v.Outcome == policy.Failed}
		in.New = v.New()
		if v.Outcome == policy.Accept {
			in.Event = m.Event
		}
		p.inbox.push(l, in)
	})
}
