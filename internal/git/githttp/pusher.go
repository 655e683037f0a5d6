package githttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
	"github.com/graspd/graspd/internal/serve/front"
)

// pusher is a push under way. Only the goroutine of run writes to the client.
type pusher struct {
	x     *exchange
	push  *gitwire.Push
	raw   *body
	pack  *pack
	lines *lines
	most  int64 // bytes of the pack; 0 is no bound
	began time.Time
	gave  atomic.Bool // the host had the push give way, and says why
}

// run waits for a turn, has the host do the push, and tells the client about it.
func (p *pusher) run() {
	var turn *turn
	if p.push.NeedsPack() {
		if wait := p.x.penalties.wait(time.Now(), p.address()); wait > 0 {
			p.tooSoon(wait)
			return
		}
		whole, err := p.gather()
		if err != nil {
			p.pack.err = err
			text := complaint(err, p.most)
			p.report(PushResult{Unpack: text, Outcomes: p.push.RefuseAll(text)})
			return
		}
		if turn = p.x.uploads.ask(p.x.from.Visitor, p.x.party(), p.raw, whole); turn == nil {
			p.busy()
			return
		}
	}
	late, err := p.await(turn)
	var r PushResult
	if err == nil && !late {
		r, err = p.work()
	}
	p.x.uploads.leave(turn)
	switch {
	case err != nil:
		p.became(PushLeft)
		panic(http.ErrAbortHandler)
	case late:
		p.busy()
	default:
		p.report(r)
	}
}

// gather reads a body that is known to be small before the push asks for a turn, and reports whether it is all here.
func (p *pusher) gather() (whole bool, err error) {
	n := p.x.req.ContentLength
	if n < 0 || n > gatherBytes || p.x.req.Header.Get("Content-Encoding") != "" || p.x.hold(int(n+unitBytes-1)/unitBytes) != nil {
		return false, nil
	}
	b, err := io.ReadAll(p.pack.src)
	p.pack.src = bufio.NewReader(bytes.NewReader(b))
	return true, err
}

// await waits for a turn, and reports whether uploadWait passed first. It fails when the client has left.
func (p *pusher) await(t *turn) (late bool, err error) {
	if t.has() {
		return false, nil
	}
	const text = "waiting for other pushes to end"
	if err := p.say(text); err != nil {
		return false, err
	}
	alive, press := time.NewTicker(aliveTime), time.NewTicker(pressTime)
	defer alive.Stop()
	defer press.Stop()
	until := time.NewTimer(uploadWait)
	defer until.Stop()
	p.x.uploads.press(t)
	for {
		select {
		case <-t.granted:
			return false, nil
		case <-until.C:
			return true, nil
		case <-t.sent:
			return true, nil
		case <-press.C:
			p.x.uploads.press(t)
		case <-alive.C:
			if err := p.alive(); err != nil {
				return false, err
			}
		case <-p.x.req.Context().Done():
			return false, context.Cause(p.x.req.Context())
		}
	}
}

// work has the host do the push. It fails when the client has left, but returns also then only when the host has ended.
func (p *pusher) work() (PushResult, error) {
	// The context of the request ends also where a body comes too slowly, as net/http takes that for a client that leaves. So the push gets a context
	// of its own, and follow finds out who has left.
	ctx, stop := context.WithCancel(context.WithoutCancel(p.x.req.Context()))
	defer stop()
	done := make(chan PushResult, 1)
	go func() {
		defer close(done)
		p.x.faults.Do("a push", func() { done <- p.x.taker.Push(ctx, p.call()) })
	}()
	r, err := p.follow(done)
	if err != nil {
		stop()
		p.raw.end()
		<-done
	}
	return r, err
}

func (p *pusher) call() PushCall {
	c := PushCall{Of: p.x.of, Operator: p.x.from.Visitor == nil, Push: p.push, Pack: p.pack, Yield: p.yield, Progress: p.lines.add}
	if addr := p.x.from.Addr; addr.IsValid() {
		c.From, c.Network = p.address(), front.Network(addr).String()
	}
	return c
}

func (p *pusher) yield() {
	p.gave.Store(true)
	p.raw.yield(errYield)
}

// address returns the address whose allowance the push uses up.
func (p *pusher) address() string { return p.x.address() }

// follow tells the client about the push until the host is done. It fails when the client has left.
func (p *pusher) follow(done <-chan PushResult) (PushResult, error) {
	left := p.x.req.Context().Done()
	alive := time.NewTicker(aliveTime)
	defer alive.Stop()
	for {
		select {
		case r, ok := <-done:
			if !ok {
				const text = "this server has a fault: try again later"
				r = PushResult{Unpack: text, Outcomes: p.push.RefuseAll(text)}
			}
			return r, p.say(p.lines.take()...)
		case <-p.lines.there:
			if err := p.say(p.lines.take()...); err != nil {
				return PushResult{}, err
			}
		case <-alive.C:
			if err := p.alive(); err != nil {
				return PushResult{}, err
			}
		case <-left:
			if !p.raw.isSlow() {
				return PushResult{}, context.Cause(p.x.req.Context())
			}
			left = nil
		}
	}
}

// say sends lines of progress to a client that wants any.
func (p *pusher) say(lines ...string) error {
	if p.push.Quiet {
		return nil
	}
	return p.print(lines)
}

// print sends lines for the person who pushes.
func (p *pusher) print(lines []string) error {
	if !p.push.Sideband || len(lines) == 0 {
		return nil
	}
	var text []byte
	for _, line := range lines {
		text = append(append(text, safetext.Escape(line)...), '\n')
	}
	p.x.out.send(pktline.AppendBand(nil, pktline.Sideband64kFrame, pktline.BandProgress, text))
	return p.x.out.Flush()
}

// alive shows the client that the server still works, as git does: by an empty frame, which git does not print.
func (p *pusher) alive() error {
	if !p.push.Sideband {
		return nil
	}
	p.x.out.send(pktline.End(append(pktline.Begin(nil), byte(pktline.BandProgress)), 0))
	return p.x.out.Flush()
}

// became counts the outcome of the push. It is called before the client hears of it.
func (p *pusher) became(o Outcome) {
	p.x.pushed(o)
	p.x.counts.time(&p.x.counts.pushed[o], p.began)
}

// busy refuses a push that got no turn.
func (p *pusher) busy() {
	const text = "too many pushes are under way here: try again in a minute"
	p.became(PushBusy)
	p.finish(PushResult{Outcomes: p.push.RefuseAll(text), Lines: []string{text}})
}

// tooSoon refuses a push of an address that still has to wait; see penalties.
func (p *pusher) tooSoon(wait time.Duration) {
	text := fmt.Sprintf("the last pack from your address was more work than one may be here: try again in %d s", seconds(wait))
	p.became(PushTooSoon)
	p.x.retryAfter(wait)
	p.finish(PushResult{Outcomes: p.push.RefuseAll(text), Lines: []string{text}})
}

// report answers with the host's decision.
func (p *pusher) report(r PushResult) {
	if r.Costly && p.x.from.Visitor != nil {
		wait := p.x.penalties.add(time.Now(), p.address())
		r.Lines = append(r.Lines, fmt.Sprintf("the next pack from your address is taken in %d s", seconds(wait)))
	}
	if p.pack.err != nil && r.Unpack != "" && !p.gave.Load() {
		r.Unpack = complaint(p.pack.err, p.most)
	}
	switch {
	case p.pack.err != nil && !errors.Is(p.pack.err, errSlow) && !errors.Is(p.pack.err, errTooLarge) && !errors.Is(p.pack.err, errInflates):
		p.became(PushLeft)
	case r.Unpack != "":
		p.became(PushBroken)
	case slices.ContainsFunc(r.Outcomes, func(o gitwire.Outcome) bool { return o.Refused != "" }):
		p.became(PushRefused)
	default:
		p.became(PushTaken)
	}
	p.finish(r)
}

// finish writes the end of the answer. Its flush is the last: by then everything that was pushed can be fetched and queried.
func (p *pusher) finish(r PushResult) {
	if p.print(r.Lines) != nil {
		return
	}
	p.x.out.send(p.push.AppendReport(nil, r.Unpack, r.Outcomes))
	_ = p.x.out.Flush() // a client that does not read has left
}
