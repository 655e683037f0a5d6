package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/events/election"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/serve/forward"
	"github.com/graspd/graspd/internal/status"
)

// Member is this process among the nodes that share a bucket: a store that follows the commit log or writes it, and what is known of who leads. A Node
// upon it serves what is in the store; there is another Node once the member leads.
//
// One goroutine has the election.Node and does what that says. Others bring entries, one at a time into the store.
type Member struct {
	*keeper
	c       Config
	recent  *recent
	secret  string
	since   time.Time // when it was opened
	client  *http.Client
	serves  *http.Server
	answers forward.Leader // to what other nodes carry here, while a Node leads
	in      chan election.Input

	applying sync.Mutex         // held while entries are taken, or a term is begun
	led      chan struct{}      // closed once it leads
	left     chan struct{}      // closed once it has left, and needs to lead no more
	over     chan struct{}      // closed when it cannot go on
	gone     chan struct{}      // closed once nobody has the election any more
	unstream context.CancelFunc // ends the stream of a leader; of the goroutine that has the election
	work     sync.WaitGroup

	mu     sync.Mutex // guards all below
	own    Config     // with the settings as they were read last
	differ []string   // the settings in which own differs from those in force
	why    error      // why it cannot go on
	term   election.Term
	leader Leader
	agreed time.Time // when the log was last seen to have what the store has
	news   news
	nodes  status.Roster
}

// errLeads ends a Node whose member leads by now.
var errLeads = errors.New("this node leads now")

// Join opens the store of a node that shares its bucket, as a follower. Prepare comes before. url is that by which the others reach the node. Join
// fails as New does, and with commitlog.ErrGap where Refill is to come first.
func Join(ctx context.Context, c Config, url string) (*Member, error) {
	c = c.withDefaults()
	b := *c.Bucket
	b.URL = url
	secret, err := b.secret(ctx)
	if err != nil {
		return nil, fmt.Errorf("the bucket %s: %w", b.Name, err)
	}
	log := bucketlog.New(b.Objects)
	r := newRecent(log)
	c.Store.Log = r
	s, err := openOwnStore(c)
	if err != nil {
		return nil, err
	}
	if err := b.isOf(s, c.Service); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	m := &Member{
		keeper: &keeper{Bucket: &b, log: log, store: s, dir: c.Dir, logger: c.Logger.With("component", "bucket")},
		c:      c, recent: r, secret: secret, since: time.Now(), in: make(chan election.Input, 100),
		led: make(chan struct{}), left: make(chan struct{}), over: make(chan struct{}), gone: make(chan struct{}), unstream: func() {},
	}
	m.client, m.serves, m.news.led = newClient(), m.server(), m.since
	m.own = c
	if err := m.tellPlace(nil); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return m, nil
}

// Serve runs the member, which answers the other nodes on l, and one Node after the other: serve is to run each. It returns when ctx ends, or when
// serve fails. In the end it hands over, and closes l and the store.
func (m *Member) Serve(ctx context.Context, l net.Listener, serve func(context.Context, *Node) error) error {
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var g errgroup.Group
	g.Go(func() error { return serving(m.serves, l)(own) })
	g.Go(func() error { m.decide(own); return nil })
	g.Go(func() error { m.tellNodes(own); return nil })
	err := m.serveNodes(ctx, serve)
	m.leave()
	stop()
	m.log.Close()
	return errors.Join(err, g.Wait(), m.store.Close())
}

// Close closes the store of a member that never served.
func (m *Member) Close() error { return m.store.Close() }

// serveNodes runs a Node that follows, and then one that leads.
func (m *Member) serveNodes(ctx context.Context, serve func(context.Context, *Node) error) error {
	for {
		c := m.ownSettings()
		c.Member = m
		n, err := New(c)
		if err != nil {
			return err
		}
		err = serve(ctx, n)
		if wrong := n.Close(); wrong != nil || !errors.Is(err, errLeads) || ctx.Err() != nil {
			return errors.Join(err, wrong)
		}
	}
}

// leads reports whether the member writes the log.
func (m *Member) leads() bool {
	select {
	case <-m.led:
		return true
	default:
		return false
	}
}

// await returns what ends a Node: that the member leads, where it did not, or cannot go on.
func (m *Member) await(leads bool) func(context.Context) error {
	led := m.led
	if leads {
		led = nil
	}
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-led:
			return errLeads
		case <-m.over:
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.why
		}
	}
}

// end has the member go on no more.
func (m *Member) end(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.why == nil {
		m.why = why
		close(m.over)
	}
}

func (m *Member) send(in election.Input) {
	select {
	case m.in <- in:
	case <-m.gone:
	}
}

// leave hands over to another node, if this one leads. Nobody writes any more.
func (m *Member) leave() {
	m.send(election.Stop{})
	select {
	case <-m.left:
	case <-m.over:
	case <-time.After(election.MaxLeave + time.Second):
	}
}

// decide has the election, and does what that says, until ctx ends.
func (m *Member) decide(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer m.work.Wait()
	defer close(m.gone)
	defer stop()
	began := time.Now()
	m.mu.Lock()
	e := election.New(m.URL, 0, m.store.LogPlace().Position, m.term)
	m.mu.Unlock()
	deposed := m.store.Deposed()
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		t.Reset(e.Wake() - time.Since(began))
		var in election.Input = election.Tick{}
		select {
		case in = <-m.in:
		default: // what has come goes before the time
			select {
			case in = <-m.in:
			case <-t.C:
			case <-deposed:
				deposed, in = nil, election.Deposed{}
			case <-ctx.Done():
				return
			}
		}
		for _, x := range e.Step(time.Since(began), in) {
			m.do(ctx, x)
		}
	}
}

// do carries out an effect. It waits for nothing.
func (m *Member) do(ctx context.Context, x election.Effect) {
	switch x := x.(type) {
	case election.Connect:
		m.connect(ctx, x.To)
	case election.Look:
		m.work.Go(func() { m.look(ctx) })
	case election.Lead:
		m.work.Go(func() { m.lead(x.Position) })
	case election.Drain: // leave comes when nobody writes any more
		m.work.Go(func() { m.send(election.Drained{Position: m.store.LogPlace().Position}) })
	case election.Call:
		m.work.Go(func() { m.send(election.HandedOver{OK: m.call(ctx, x)}) })
	case election.Restart:
		m.work.Go(func() { m.end(m.deposed(ctx)) })
	case election.Quit:
		close(m.left)
	}
}

// look takes what the log has beyond the store. Where the member leads, it looks whether another one does.
func (m *Member) look(ctx context.Context) {
	if m.leads() {
		if at := m.store.LogPlace(); m.isDeposed(ctx) {
			m.send(election.Deposed{})
		} else {
			m.send(election.Ended{Position: at.Position})
		}
		return
	}
	for width := 1; ; width = min(2*width, commitlog.Widest) {
		at := m.store.LogPlace().Position
		entries, err := commitlog.ReadSome(commitlog.Position(at+1), width, func(p commitlog.Position) (commitlog.Entry, error) { return m.log.Read(ctx, p) })
		for _, x := range entries {
			if wrong := m.take(x); wrong != nil {
				err = wrong
				break
			}
		}
		switch {
		case err == nil:
			continue
		case !errors.Is(err, commitlog.ErrNone):
			m.unseen(err)
		case m.agrees(ctx):
			m.seen(commitlog.Position(at)+commitlog.Position(len(entries)), false)
			m.send(election.Ended{Position: at + uint64(len(entries))})
		}
		return
	}
}

// agreeEvery is how often a follower looks whether the log still has what the store has.
const agreeEvery = time.Minute

// agrees reports whether the log still has what the store has, as far as that was looked for.
func (m *Member) agrees(ctx context.Context) bool {
	m.mu.Lock()
	soon := time.Since(m.agreed) < agreeEvery
	m.mu.Unlock()
	if soon {
		return true
	}
	at := m.store.LogPlace()
	if err := m.log.Agree(ctx, commitlog.Position(at.Position), at.Chain); err != nil {
		m.unseen(err)
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.agreed = time.Now()
	return true
}

// unseen notes that a look has failed, and whether that will stay so.
func (m *Member) unseen(err error) {
	switch {
	case errors.Is(err, commitlog.ErrGap), errors.Is(err, store.ErrHistory), errors.Is(err, commitlog.ErrDamaged), errors.Is(err, commitlog.ErrFormat), errors.Is(err, store.ErrFailed):
		m.end(fmt.Errorf("follow the bucket %s: %w", m.Name, err))
	default:
		m.logger.Debug("the commit log cannot be read", "error", err)
	}
	m.send(election.Unseen{})
}

// take applies an entry that was read or sent, unless the store has it.
func (m *Member) take(x commitlog.Entry) error {
	m.applying.Lock()
	defer m.applying.Unlock()
	if uint64(x.At) <= m.store.LogPlace().Position {
		return nil
	}
	if err := m.store.Apply(x); err != nil {
		return err
	}
	return m.tellPlace(&x)
}

// tellPlace notes up to where the store has the log, and whose term that is.
func (m *Member) tellPlace(x *commitlog.Entry) error {
	at := m.store.LogPlace()
	m.mu.Lock()
	term := m.term
	m.mu.Unlock()
	if term.Number != at.Term {
		l, err := leaderBefore(m.store)
		if err != nil {
			return err
		}
		term = election.Term{Number: at.Term, By: l.URL}
		m.mu.Lock()
		m.term, m.leader = term, l
		m.mu.Unlock()
		if x != nil {
			m.logger.Info("who leads has changed", "leader", l.String(), "term", at.Term)
		}
	}
	if x != nil {
		m.send(election.Applied{Position: at.Position, Term: term})
	}
	return nil
}

// lead begins a term, where the log has nothing that the store does not have.
func (m *Member) lead(position uint64) {
	m.applying.Lock()
	defer m.applying.Unlock()
	may, err := m.mayLead(time.Now())
	if err != nil || !may {
		m.logger.Debug("this node does not lead, as its settings are not those in force", "error", err)
		m.send(election.NotLed{})
		return
	}
	term, err := uint64(0), store.ErrDeposed
	if m.store.LogPlace().Position == position {
		term, err = m.store.Lead(newLeader(m.Bucket, m.c.Service.ServerName(), m.c.Now()))
	}
	if errors.Is(err, store.ErrDeposed) {
		m.recent.forget()
		m.send(election.NotLed{})
		return
	}
	if err == nil {
		err = m.tellPlace(nil)
	}
	if err != nil {
		m.end(fmt.Errorf("begin to write the bucket %s: %w", m.Name, errors.Join(err, m.Objects.Stats().Last)))
		return
	}
	m.logger.Info("this node leads", "term", term, "position", position+1)
	close(m.led)
	m.send(election.Led{Position: position + 1, Term: term})
}
