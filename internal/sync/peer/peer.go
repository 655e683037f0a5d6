package peer

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/coverage"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/gaps"
	"github.com/graspd/graspd/internal/sync/peer/history"
)

// Fixed times of the engine.
const (
	silence       = 30 * time.Second // without progress a request has failed
	dropAfterOpen = 2 * time.Second  // a connection lost that soon after NEG-OPEN was lost for it
	refusedRetry  = 24 * time.Hour   // restricted requests
	clockSlip     = 5 * time.Minute
)

// phase is where a peer stands with its connection.
type phase uint8

const (
	phaseIdle phase = iota
	phaseDialing
	phaseOpen
	phaseWaiting
)

// Peer is the life of one remote relay: state in, input in, effects out. It
// holds no clock and no lock and belongs to one goroutine.
type Peer struct {
	stepContext
	itemState

	begun   bool
	wakeAt  time.Duration
	mark    backoff.Now // last sign of life; it stands still while anything is held
	hasMark bool        // false: the next connection begins as if the relay had never been heard

	phase    phase
	dialing  history.Attempts
	resyncAt time.Duration

	references references
	conn       *connection // everything that dies with the connection
	left       left        // what the last connection left to the next one
	demands    requestModes
	unfiltered unfiltered

	comparing comparing
	uptime    backoff.Uptime
	gaps      gaps.Gaps
	lastAlive time.Time
	complete  time.Duration // when everything wanted was last confirmed; before that, when it was first wanted
	coverage  coverage.Book
	suspects  suspects
	longest   int // bytes of the shortest message that was too long for the relay; 0 = none was
}

// Step takes one input at the time now and returns what has to be done, in
// order. The slice is valid until the next Step.
func (p *Peer) Step(now backoff.Now, in Input) []Effect {
	slipped, before := p.clock(now), p.conn
	p.noteComplete()
	changed := p.input(in)
	if slipped && p.conn != nil && p.conn == before {
		p.recatch(Catchup)
	}
	if changed || slipped || p.now.Mono >= p.wakeAt {
		p.tend()
		p.wakeAt = p.nextWake()
	}
	p.noteComplete()
	return p.out
}

// clock notes the time and reports whether the two clocks have parted: the
// machine slept or was set, and what was confirmed may have aged without a sign.
func (p *Peer) clock(now backoff.Now) bool {
	slip := now.Wall.Sub(p.now.Wall) - (now.Mono - p.now.Mono)
	slipped := p.begun && slip.Abs() > clockSlip
	if p.begun && p.phase != phaseIdle {
		p.uptime.Add(p.conn != nil, now.Mono-p.now.Mono)
	}
	p.start(now)
	if !p.begun {
		p.begun = true
		p.recall(p.cfg.Past)
	}
	p.hasMark = p.hasMark && !slipped
	if slipped && p.conn != nil {
		p.conn.followed.Restart(now.Wall.Unix())
	}
	return slipped
}

// input handles one input. It reports whether anything but the progress of an
// open request may have changed: events come often and must cost little.
func (p *Peer) input(in Input) bool {
	switch in := in.(type) {
	case Wanted:
		p.setWant(in.Want)
	case Connected:
		p.connected(in)
	case DialFailed:
		p.dialFailed(in)
	case Disconnected:
		p.disconnected(in)
	case Retry:
		p.retry()
	case Reconsider:
		p.reconsider()
	case Tick:
	default:
		return p.conn != nil && p.traffic(in)
	}
	return true
}

// traffic handles what an open connection brings.
func (p *Peer) traffic(in Input) bool {
	switch in := in.(type) {
	case Decided:
		return p.decided(in)
	case Received:
		p.alive()
		return p.received(in)
	case Alive:
		p.alive()
		return false
	case Loaded:
		p.comparing.loaded(in)
	case Sifted:
		p.comparing.sifted(in)
	case Authenticated:
		p.alive()
		if p.demands.verdict(in) {
			p.authEnded()
		}
	case Unasked:
		p.alive()
		p.unasked(in.Count)
	case Surveyed:
		p.references.surveyed(in)
	case Attributed:
		p.coverage.Attributed(in.Sub, p.want, p.wanted.Has, in.Names, in.Failed)
	case Frame:
		p.alive()
		p.frame(in.Message)
	}
	return true
}

// alive moves the mark, unless something is held as of where it stands.
func (p *Peer) alive() {
	p.lastAlive = p.now.Wall
	if p.held.Len() == 0 {
		p.mark, p.hasMark = p.now, true
	}
}

func (p *Peer) frame(m nostr.RelayMessage) {
	switch m := m.(type) {
	case nostr.EOSE:
		p.eose(m.Sub)
	case nostr.Closed:
		p.closed(m.Sub, m.Reason)
	case nostr.Notice:
		p.notice(m.Text)
	case nostr.AuthChallenge:
		p.demands.challenged(m.Challenge)
	case nostr.NegMsg:
		p.comparing.negMsg(m.Sub, m.Msg)
	case nostr.NegErr:
		p.comparing.negErr(m.Sub, m.Reason, m.Max)
	case nostr.NegClose:
		p.comparing.negErr(m.Sub, "closed: by the relay", 0)
	}
}

// tend has every part do what its state asks for now. The order matters:
//   - Without a connection there is only the hour of gaps to be ended and a dial to be made.
//   - A full resync comes first, as it forgets what the others would go by.
//   - What was not answered in time ends next: that frees places, and has items wait that those below then find.
//   - A CLOSE that was thrown away is sent again before anything new counts against the relay's limit.
//   - What the relay demands is settled before anything is sent, or it would go out in a mode that is refused again.
//   - Asking as a whole ends before the live side looks, so that its items are followed in the same step.
//   - The live side comes before the stored one: who is followed before they are caught up with misses nothing in between.
//   - Polls and layer 4 only say what is due; then the stored side asks what fits. Where that ended asking as a whole, both sides
//     go through what waits once more.
//   - Coverage and the end of a visit go by how everything stands in the end.
func (p *Peer) tend() {
	if rest, grave := p.gaps.End(p.now.Mono); rest > 0 {
		p.report(gapLevel(grave), "further gaps within the hour", "count", rest)
	}
	if p.phase == phaseIdle && p.want != nil && !p.dialing.Ourself() {
		p.phase = phaseWaiting
	}
	if p.phase == phaseWaiting && p.now.Mono >= p.dialAt() {
		p.dial()
	}
	if p.conn == nil {
		return
	}
	if p.now.Mono >= p.conn.opened.Mono+history.StableAfter {
		p.dialing.Stable()
	}
	if p.now.Mono >= p.resyncAt {
		p.scheduleResync()
		p.comparing.forgive(true)
		p.demands.kinds.Forget()
		p.conn.anew()
		p.demands.names = demands.Names{}
		p.recatch(Daily)
	}
	p.conn.expire()
	p.conn.closeAgain()
	if p.demands.overdue() {
		p.authEnded()
	}
	p.conn.reopenOutdated()
	p.unfiltered.tend()
	p.conn.tend()
	p.conn.tendPolls()
	p.references.tend(p.resyncAt)
	p.unfiltered.hasEnded()
	p.conn.tendTasks()
	if p.unfiltered.hasEnded() { // its items wait
		p.conn.tend()
		p.conn.tendTasks()
	}
	p.tendCoverage()
	p.tendVisit()
}

// authEnded has what waited for a verdict on AUTH go on: at once where the relay accepts this one, else when it may have
// changed its mind.
func (p *Peer) authEnded() {
	at := p.demands.retryAt()
	p.conn.catchup.takeBack(at)
	p.conn.planner.PutForward(untilVerdict, at)
	if p.demands.auth.Granted() {
		p.conn.reopenMute()
	}
}

// recatch forgets what is confirmed and asks everything again, with live open.
// Polled items are tried live again.
func (p *Peer) recatch(class Class) {
	c := p.conn
	p.left.pages, p.left.large = nil, nil
	p.coverage.Begin()
	p.unconfirm()
	c.cancelMerge()
	c.closeUnanswered()
	c.dropGroups(func(*group) bool { return true })
	p.references.drop()
	p.suspects.dropTrial()
	c.queues = queues{}
	p.references.inquiry.AwaitCatchUp(p.now.Mono)
	if class == Daily {
		p.unfiltered.become()
	}
	switch {
	case p.unfiltered.asksAll():
		p.suspects.acquit()
	case class == Daily:
		p.suspects.again(true)
	}
	c.askAgain(class, p.suspects.under.Has)
}
