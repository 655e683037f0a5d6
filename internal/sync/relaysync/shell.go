package relaysync

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/history"
	"github.com/graspd/graspd/internal/sync/want"
)

// peer is the shell of one remote relay. It owns the relay's peer.Peer, tells it what happens, and performs its effects. Package peer decides
// what to ask, and package unsolicited which frames of the relay nobody asked for. The shell waits nowhere but in the select of work.
type shell struct {
	engine  *Engine
	url     grasp.RelayURL
	machine *peer.Peer
	logger  *slog.Logger

	bootstrap bool
	first     peer.FirstCatchup // of the catch-up under way
	round     uint64            // its number, from 0
	calm      bool              // the relay has answered all that it was asked

	newest  chan *want.Want // one slot: the newest Want
	wanted  *want.Want      // the Want that the machine has
	party   string          // the party of the relay's events at the door
	again   chan struct{}   // one slot: the machine is to ask for everything again
	inbox   *inbox
	dialed  chan dialResult
	calls   chan func(context.Context)
	left    chan struct{} // closed when nothing steps the machine any more
	ended   chan struct{} // closed when run returns
	quit    chan struct{} // closed by stop
	link    *link         // nil unless a connection is open
	dialing *attempt
	running sync.WaitGroup // counts the dials and the goroutines of links
	useless useless
}

// attempt is one dial. The shell throws away the result of any but the current attempt.
type attempt struct {
	cancel context.CancelFunc
	of     *want.Want // the Want at the time of the dial
}

// dialResult says what became of an attempt. Whoever has a dialResult owns its conn, which is nil after a failure.
type dialResult struct {
	of   *attempt
	conn Conn
	in   peer.Input
}

func newPeer(e *Engine, u grasp.RelayURL, m *peer.Peer) *shell {
	return &shell{
		engine: e, url: u, machine: m, bootstrap: slices.Contains(e.cfg.Bootstrap, u),
		logger: e.cfg.Logger.With(slog.String("component", "peer"), slog.String("relay", string(u))),
		newest: make(chan *want.Want, 1), again: make(chan struct{}, 1), inbox: newInbox(), dialed: make(chan dialResult),
		calls: make(chan func(context.Context)), left: make(chan struct{}), ended: make(chan struct{}), quit: make(chan struct{}),
	}
}

// now returns the time by the steady clock.
func (p *shell) now() time.Duration { return p.engine.cfg.Now().Mono }

// want hands the shell a new Want, in place of one that the shell has not taken yet. It never waits. Only the engine calls it.
func (p *shell) want(w *want.Want) {
	select {
	case <-p.newest:
	default:
	}
	p.newest <- w
}

// regard notes the newest Want, and the party to which the relay belongs: relays that only one owner names are one party, so that nobody
// gets more turns and memory by naming many relays.
func (p *shell) regard(w *want.Want) {
	p.wanted, p.party = w, w.Party()
	if p.link != nil {
		p.link.source.Join(p.party)
		p.link.conn.SetParty(p.party)
	}
}

// reconsider makes the peer ask for everything again. Only the engine calls it.
func (p *shell) reconsider() { poke(p.again) }

// stop ends the peer; run returns soon after. Only the engine calls it, once.
func (p *shell) stop() { close(p.quit) }

// standing says how a relay stands.
type standing struct {
	status status.Relay
	record history.Record
}

// call makes the shell run f between two steps, and waits for that. It returns false when f did not come to its end: the shell has ended,
// ctx ended before the shell began, or f had a fault.
func (p *shell) call(ctx context.Context, f func(context.Context)) (came bool) {
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

// standing asks the shell how the relay stands. It returns false when the shell has ended or ctx ended first.
func (p *shell) standing(ctx context.Context) (s standing, ok bool) {
	ok = p.call(ctx, func(context.Context) { s = standing{p.machine.Status(), p.machine.Record()} })
	return s, ok
}

// last waits until the shell, which has been told to end, has ended, and returns the relay's record. Only the engine calls it.
func (p *shell) last() history.Record {
	<-p.left
	return p.remembered()
}

// run runs the shell until ctx ends or stop is called. It returns when all goroutines of the peer have ended.
func (p *shell) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer close(p.ended)
	defer p.running.Wait()
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

// work tells the machine what happens and performs what the machine decides, until ctx ends or stop is called.
func (p *shell) work(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var taken []arrival
	for {
		select {
		case w := <-p.newest:
			p.regard(w)
			p.step(ctx, peer.Wanted{Want: w})
		case <-p.again:
			p.step(ctx, peer.Reconsider{})
		case <-p.inbox.ready:
			if ctx.Err() != nil {
				return // the end of ctx ends connections too: that is no failure of the relay
			}
			taken = p.arrivals(ctx, taken)
		case r := <-p.dialed:
			if ctx.Err() != nil {
				p.drop(r)
				return
			}
			p.dialEnded(ctx, r)
		case <-timer.C:
			taken = p.arrivals(ctx, taken) // what wakes nobody counts, before something counts as missing
			p.step(ctx, peer.Tick{})
		case f := <-p.calls:
			p.step(ctx, peer.Tick{}) // without a step the machine would tell how things stood at its last step
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

// noteCalm pokes the engine when the relay has just answered all that it was asked.
func (p *shell) noteCalm() {
	before := p.calm
	p.calm = len(p.newest) == 0 && p.machine.CaughtUp()
	if !before && p.calm {
		poke(p.engine.calm)
	}
}

// setTimer sets the timer to the time at which the machine wants its next step. A machine that waits for nothing gets a step once a day.
func (p *shell) setTimer(t *time.Timer) {
	at, ok := p.machine.Wake()
	if !ok {
		t.Reset(24 * time.Hour)
		return
	}
	t.Reset(max(0, at-p.now()))
}

// arrivals handles all inputs in the inbox, which fills spare from now on. The caller takes back what they were in.
func (p *shell) arrivals(ctx context.Context, spare []arrival) []arrival {
	if ctx.Err() != nil {
		return spare
	}
	taken := p.inbox.take(spare)
	for i, a := range taken {
		if a.from == p.link && a.from != nil {
			p.arrived(ctx, a.in)
		}
		taken[i] = arrival{}
	}
	return taken
}

// arrived handles one input of the open connection.
func (p *shell) arrived(ctx context.Context, in peer.Input) {
	in = p.link.authAnswer(in)
	if _, ok := in.(peer.Disconnected); ok {
		p.link = nil
	}
	p.step(ctx, in)
}

// drop closes the connection of a dial that nobody wants any more. It does not wait for the closing.
func (p *shell) drop(r dialResult) {
	if r.conn != nil {
		p.running.Go(func() { _ = r.conn.Close(errHungUp.Error()) })
	}
}

// dialEnded takes over the connection of a dial, if there is one, and tells the machine what became of the attempt.
func (p *shell) dialEnded(ctx context.Context, r dialResult) {
	if r.of != p.dialing {
		p.drop(r)
		return
	}
	p.dialing.cancel()
	p.dialing = nil
	if r.conn != nil {
		p.link = p.open(ctx, r.conn)
		select {
		case p.engine.dialed <- p.url:
		default:
		}
	}
	p.step(ctx, r.in)
}

// step feeds one input to the machine and performs the effects in order.
func (p *shell) step(ctx context.Context, in peer.Input) {
	for _, e := range p.machine.Step(p.engine.cfg.Now(), in) {
		p.perform(ctx, e)
	}
	p.noteFirst()
}

// perform performs one effect. Without a connection, it drops effects that need one.
func (p *shell) perform(ctx context.Context, e peer.Effect) {
	switch e := e.(type) {
	case peer.Dial:
		dctx, cancel := context.WithCancel(ctx)
		a := &attempt{cancel, p.wanted}
		p.dialing = a
		p.running.Go(func() { p.deliver(dctx, p.dial(dctx, a)) })
	case peer.HangUp:
		p.hangUp()
	case peer.Report:
		p.report(ctx, e)
	default:
		if p.link != nil {
			p.transmit(e)
		}
	}
}

// transmit turns an effect into a frame, or into a load that reads the store and pushes its result into the inbox.
func (p *shell) transmit(e peer.Effect) {
	l := p.link
	if shows(e) && p.outsider() { // the relay was no outsider when the connection opened
		l.cancel(errOutsider)
		return
	}
	switch e := e.(type) {
	case peer.LoadSet:
		read := p.load
		if e.Most > 0 && e.Filter.Since == nil && e.Filter.Until == nil { // the comparison of everything, whose filter is empty
			read = p.loadWhole
		}
		l.load(func(ctx context.Context) { p.inbox.push(l, read(ctx, e)) })
	case peer.Sift:
		l.load(func(ctx context.Context) { p.inbox.push(l, p.sift(ctx, e)) })
	case peer.Survey:
		l.load(func(ctx context.Context) { p.inbox.push(l, p.survey(ctx, e)) })
	case peer.Attribute:
		l.load(func(ctx context.Context) { p.inbox.push(l, p.attribute(ctx, e)) })
	case peer.Request:
		l.asked.open(e)
		l.send(nostr.AppendReq(nil, e.Sub, e.Filters...))
	case peer.CloseRequest:
		l.asked.end(e.Sub, p.now())
		l.send(nostr.AppendClose(nil, e.Sub))
	case peer.Forget:
		l.asked.end(e.Sub, p.now())
	case peer.OpenNeg:
		l.conn.ExpectLarge()
		l.send(nostr.AppendNegOpen(nil, e.Sub, e.Filter, e.Msg))
	case peer.ContinueNeg:
		l.conn.ExpectLarge()
		l.send(nostr.AppendNegMsg(nil, e.Sub, e.Msg))
	case peer.Authenticate:
		p.authenticate(l, e.Challenge)
	case peer.CloseNeg:
		l.send(nostr.AppendNegClose(nil, e.Sub))
	}
}

// hangUp ends the attempt or the connection, whichever there is, and does not wait for the end.
func (p *shell) hangUp() {
	if p.dialing != nil {
		p.dialing.cancel()
		p.dialing = nil
	}
	if p.link != nil {
		p.link.cancel(errHungUp)
		p.link = nil
	}
}
