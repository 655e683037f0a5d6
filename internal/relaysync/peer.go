package relaysync

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/want"
)

// peer is the shell of one remote relay: it owns its plan.Peer, feeds it what
// happens and performs its effects. What to ask, and what the relay sends unasked, is
// decided by the values in plan and unasked. The shell never waits but in its select.
type peer struct {
	engine  *Engine
	url     grasp.RelayURL
	machine *plan.Peer
	logger  *slog.Logger

	bootstrap bool
	first     plan.FirstCatchup
	calm      bool // it has answered all that it was asked

	mailbox chan *want.Want // one slot: the newest Want
	wanted  *want.Want      // the last one that was taken from it
	share   string          // the party of its events at the door
	again   chan struct{}   // one slot: everything is to be asked again
	inbox   *inbox
	dialed  chan dialResult
	calls   chan func(context.Context)
	left    chan struct{} // closed when nothing steps the machine any more
	ended   chan struct{}
	quit    chan struct{} // closed by stop
	link    *link         // nil unless a connection is open
	dialing *attempt
	group   sync.WaitGroup // dialer, loaders, and the goroutines of links
}

// attempt is one dial under way; a result of another one is thrown away.
type attempt struct {
	cancel context.CancelFunc
	of     *want.Want // what the relay is wanted for as it is dialed
}

type dialResult struct {
	of   *attempt
	conn Conn
	in   plan.Input
}

func newPeer(e *Engine, u grasp.RelayURL, m *plan.Peer) *peer {
	return &peer{
		engine: e, url: u, machine: m, bootstrap: slices.Contains(e.cfg.Bootstrap, u),
		logger:  e.cfg.Logger.With(slog.String("component", "peer"), slog.String("relay", string(u))),
		mailbox: make(chan *want.Want, 1), again: make(chan struct{}, 1), inbox: newInbox(), dialed: make(chan dialResult),
		calls: make(chan func(context.Context)), left: make(chan struct{}), ended: make(chan struct{}), quit: make(chan struct{}),
	}
}

// want replaces what waits in the mailbox. Only the engine calls it.
func (p *peer) want(w *want.Want) {
	select {
	case <-p.mailbox:
	default:
	}
	p.mailbox <- w
}

// regard notes on whose account the relay's events are verified: relays that only one owner names are on his together, so
// that nobody gets more turns by naming many.
func (p *peer) regard(w *want.Want) {
	p.wanted, p.share = w, w.Account()
	if p.link != nil {
		p.link.source.Share(p.share)
		p.link.conn.Account(p.share)
	}
}

// reconsider has everything asked again. Only the engine calls it.
func (p *peer) reconsider() { poke(p.again) }

// stop ends the peer; run returns soon after. Only the engine calls it, once.
func (p *peer) stop() { close(p.quit) }

// standing is how a peer stands.
type standing struct {
	status  status.Relay
	record  plan.Record
	through bool // the first catch-up of a bootstrap relay
}

// call has f run by the shell between two steps, and waits for it; false when it did not come to its end: the
// shell has ended, ctx ended first, or there was a fault.
func (p *peer) call(ctx context.Context, f func(context.Context)) (came bool) {
	done := make(chan struct{})
	select {
	case p.calls <- func(ctx context.Context) { defer close(done); f(ctx); came = true }:
		<-done
		return came
	case <-p.left:
	case <-ctx.Done():
	}
	return false
}

// standing asks the shell; false when it has ended or ctx ended first.
func (p *peer) standing(ctx context.Context) (s standing, ok bool) {
	ok = p.call(ctx, func(context.Context) { s = standing{p.machine.Status(), p.machine.Record(), p.first.Through()} })
	return s, ok
}

// last returns what is to be kept of the relay when the peer was told to stop. Only the engine calls it.
func (p *peer) last() plan.Record {
	<-p.left
	return p.remembered()
}

// run is the shell. It ends with ctx or stop, and returns when its connection
// and helpers have ended.
func (p *peer) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer close(p.ended)
	defer p.group.Wait()
	defer cancel()
	defer close(p.left)
	defer func() {
		if p.link != nil {
			p.link.cancel(errStopped)
		}
	}()
	for {
		err := p.contained(func() error { p.work(ctx); return nil })
		if err == nil || p.contained(func() error { p.renew(ctx, err); return nil }) != nil {
			return
		}
	}
}

// work performs what the machine decides until the peer is to end.
func (p *peer) work(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var taken []arrival
	for {
		select {
		case w := <-p.mailbox:
			p.regard(w)
			p.step(ctx, plan.Wanted{Want: w})
		case <-p.again:
			p.step(ctx, plan.Reconsider{})
		case <-p.inbox.ready:
			if ctx.Err() != nil {
				return // connections end with it, which is no failure of the relay
			}
			taken = p.inbox.take(taken)
			for i, a := range taken {
				if a.from == p.link && a.from != nil {
					p.arrived(ctx, a.in)
				}
				taken[i] = arrival{}
			}
		case r := <-p.dialed:
			if ctx.Err() != nil {
				p.drop(r)
				return
			}
			p.dialEnded(ctx, r)
		case <-timer.C:
			p.step(ctx, plan.Tick{})
		case f := <-p.calls:
			p.step(ctx, plan.Tick{}) // what the machine tells is as of the last step
			f(ctx)
		case <-p.quit:
			return
		case <-ctx.Done():
			return
		}
		p.noteCalm()
		p.setTimer(timer)
	}
}

// noteCalm tells the engine when the relay has answered all that it was asked.
func (p *peer) noteCalm() {
	before := p.calm
	p.calm = len(p.mailbox) == 0 && p.machine.CaughtUp()
	if !before && p.calm {
		poke(p.engine.calm)
	}
}

func (p *peer) setTimer(t *time.Timer) {
	at, ok := p.machine.Wake()
	if !ok {
		t.Reset(24 * time.Hour)
		return
	}
	t.Reset(max(0, at-p.engine.cfg.Now().Mono))
}

func (p *peer) arrived(ctx context.Context, in plan.Input) {
	in = p.link.verdict(in)
	if _, ok := in.(plan.Disconnected); ok {
		p.link = nil
	}
	p.step(ctx, in)
}

// drop closes a connection that nobody wants any more.
func (p *peer) drop(r dialResult) {
	if r.conn != nil {
		p.group.Go(func() { _ = r.conn.Close(errHungUp.Error()) })
	}
}

func (p *peer) dialEnded(ctx context.Context, r dialResult) {
	if r.of != p.dialing {
		p.drop(r)
		return
	}
	p.dialing.cancel()
	p.dialing = nil
	if r.conn != nil {
		p.link = p.open(ctx, r.conn)
		if told := p.engine.cfg.Connected; told != nil {
			told(p.url)
		}
	}
	p.step(ctx, r.in)
}

// step feeds one input to the machine and performs the effects in order.
func (p *peer) step(ctx context.Context, in plan.Input) {
	for _, e := range p.machine.Step(p.engine.cfg.Now(), in) {
		p.perform(ctx, e)
	}
	p.noteFirst()
}

func (p *peer) perform(ctx context.Context, e plan.Effect) {
	switch e := e.(type) {
	case plan.Dial:
		dctx, cancel := context.WithCancel(ctx)
		a := &attempt{cancel, p.wanted}
		p.dialing = a
		p.group.Go(func() { p.deliver(dctx, p.dial(dctx, a)) })
	case plan.HangUp:
		p.hangUp()
	case plan.Report:
		p.report(ctx, e)
	default:
		if p.link != nil {
			p.transmit(e)
		}
	}
}

// transmit turns an effect into a frame, or has the store read for the connection.
func (p *peer) transmit(e plan.Effect) {
	l := p.link
	if shows(e) && p.outsider() { // it was none when it was connected to
		l.cancel(errOutsider)
		return
	}
	switch e := e.(type) {
	case plan.LoadSet:
		read := p.load
		if e.Most > 0 && e.Filter.Since == nil && e.Filter.Until == nil { // it has nothing else
			read = p.loadWhole
		}
		l.load(func(ctx context.Context) { p.inbox.push(l, read(ctx, e)) })
	case plan.Sift:
		l.load(func(ctx context.Context) { p.inbox.push(l, p.sift(ctx, e)) })
	case plan.Survey:
		l.load(func(ctx context.Context) { p.inbox.push(l, p.survey(ctx, e)) })
	case plan.Attribute:
		l.load(func(ctx context.Context) { p.inbox.push(l, p.attribute(ctx, e)) })
	case plan.Request:
		l.asked.open(e)
		l.send(nostr.AppendReq(nil, e.Sub, e.Filters...))
	case plan.CloseRequest:
		l.asked.end(e.Sub, p.engine.cfg.Now().Mono)
		l.send(nostr.AppendClose(nil, e.Sub))
	case plan.Forget:
		l.asked.end(e.Sub, p.engine.cfg.Now().Mono)
	case plan.OpenNeg:
		l.conn.ExpectLarge()
		l.send(nostr.AppendNegOpen(nil, e.Sub, e.Filter, e.Msg))
	case plan.ContinueNeg:
		l.conn.ExpectLarge()
		l.send(nostr.AppendNegMsg(nil, e.Sub, e.Msg))
	case plan.Authenticate:
		p.authenticate(l, e.Challenge)
	case plan.CloseNeg:
		l.send(nostr.AppendNegClose(nil, e.Sub))
	}
}

func (p *peer) hangUp() {
	if p.dialing != nil {
		p.dialing.cancel()
		p.dialing = nil
	}
	if p.link != nil {
		p.link.cancel(errHungUp)
		p.link = nil
	}
}
