package cluster_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/election"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// node is a machine: a name, and a disk that outlives its processes.
type node struct {
	w    *world
	name string

	mu    sync.Mutex // guards all below
	disk  *vfs.MemFS // nil while a process has it
	life  *life      // nil while none runs
	lives int
	over  bool // the world ends
}

func newDisk() *vfs.MemFS { return vfs.NewCrashableMem() }

func (n *node) current() *life {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life
}

// down reports whether no process runs and one can be started.
func (n *node) down() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life == nil && n.disk != nil && !n.over
}

// start starts a process.
func (n *node) start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over || n.disk == nil {
		return
	}
	n.lives++
	l := &life{node: n, w: n.w, number: n.lives, fs: n.disk, in: make(chan election.Input, 1000), dead: make(chan struct{}), moved: make(chan struct{}), applying: make(chan struct{}, 1)}
	l.dice = newDice(n.w.seed, l.String())
	l.conn = &conn{l: l, wrote: map[uint64]commitlog.Entry{}}
	n.life, n.disk = l, nil
	n.w.say("%s starts", l)
	l.all.Add(1)
	go func() {
		defer l.all.Done()
		l.run()
	}()
}

// retire ends the node for good.
func (n *node) retire() {
	n.mu.Lock()
	n.over = true
	l := n.life
	n.mu.Unlock()
	if l != nil {
		l.end(l.fs, false)
	}
}

// life is one process of a node: a store, what it knows of who leads, and, while it leads, what it writes with.
type life struct {
	*dice
	node   *node
	w      *world
	number int
	fs     *vfs.MemFS
	conn   *conn
	in     chan election.Input
	dead   chan struct{}  // closed at the end
	all    sync.WaitGroup // its goroutines, and those of others that are in it

	applying chan struct{} // has one while entries are taken, or a term is begun

	mu       sync.Mutex // guards all below
	s        *store.Store
	closing  bool
	frozen   time.Duration // until then
	place    store.Place   // what has been applied, and can be seen
	term     election.Term
	moved    chan struct{} // closed when place moves
	unstream chan struct{} // closed to end the stream that it takes
	writer   writer        // nil unless it leads
	chances  map[string]*dice
}

func (l *life) String() string { return fmt.Sprint(l.node.name, l.number) }

// enter has somebody work in the process, until they call all.Done. It fails where the process has ended, or is not up yet.
func (l *life) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing || l.s == nil {
		return false
	}
	l.all.Add(1)
	return true
}

func (l *life) spawn(do func()) {
	if l.enter() {
		go func() {
			defer l.all.Done()
			do()
		}()
	}
}

func (l *life) send(in election.Input) {
	select {
	case l.in <- in:
	case <-l.dead:
	}
}

// wild reports whether things go wrong at a place, once in n times.
func (l *life) wild(n int, where string) bool { return !l.w.calms() && l.chance(where).roll(n) == 0 }

// chance is the dice of a place in the process: several of its goroutines may come to different places at once, in any order.
func (l *life) chance(where string) *dice {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.chances == nil {
		l.chances = map[string]*dice{}
	}
	if l.chances[where] == nil {
		l.chances[where] = newDice(l.w.seed, l.String()+where)
	}
	return l.chances[where]
}

// freeze has the process stand still for a while. where is for the transcript.
func (l *life) freeze(d time.Duration, where string) {
	l.w.say("%s freezes for %v, %s", l, d, where)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = max(l.frozen, l.w.now()+d)
}

func (l *life) thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = 0
}

// pass is between two steps of the process: where it may freeze, once in n times, and stands still while it is frozen. It returns false once the
// process is over, or stop is closed.
func (l *life) pass(n int, where string, stop <-chan struct{}) bool {
	if d := l.w.springs(l, where); d > 0 {
		l.freeze(d, where)
	} else if l.wild(n, where) {
		l.freeze(l.chance(where).while(), where)
	}
	for {
		l.mu.Lock()
		wait := l.frozen - l.w.now()
		l.mu.Unlock()
		if !l.wait(min(wait, 500*time.Millisecond), stop) { // a thaw may come
			return false
		}
		if wait <= 0 {
			return true
		}
	}
}

// wait lets time pass. It returns false once the process is over, or stop is closed.
func (l *life) wait(d time.Duration, stop <-chan struct{}) bool {
	select {
	case <-l.dead:
		return false
	case <-stop:
		return false
	default:
	}
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.dead:
	case <-stop:
	}
	return false
}

// travel is the way of a message.
func (l *life) travel() bool { return l.wait(l.some(10*time.Millisecond), nil) }

// close has everything in the process end, and reports whether it is the first to do so.
func (l *life) close() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return false
	}
	l.closing = true
	close(l.dead)
	return true
}

// kill ends the process, with some of what was not synced lost.
func (l *life) kill() {
	r := rand.New(rand.NewPCG(uint64(l.number), l.w.seed)) // of its own: how much CrashClone draws depends on what the store does on the side
	l.end(l.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(l.w.seed*31+uint64(l.number)*17) % 101, RNG: r}), false)
}

// end ends the process, and leaves that disk. again starts the next one at once.
func (l *life) end(disk *vfs.MemFS, again bool) {
	if !l.close() {
		return
	}
	n := l.node
	n.mu.Lock()
	n.life = nil
	n.mu.Unlock()
	l.w.ended.Go(func() {
		l.all.Wait()
		if l.s != nil {
			failed := l.s.Failure() != nil // a commit did not become known, or the disk is gone
			if err := l.s.Close(); err != nil && !failed {
				l.w.audit.problem("%s: close: %v", l, err)
			}
		}
		n.mu.Lock()
		n.disk = disk
		n.mu.Unlock()
		if again {
			n.start()
		}
	})
}

// at returns up to where the process shows the log.
func (l *life) at() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.place.Position
}

func (l *life) movedC() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.moved
}

// await waits until the process shows the log up to a position.
func (l *life) await(position uint64) bool {
	for end := l.w.now() + 30*time.Second; ; {
		moved := l.movedC()
		if l.at() >= position {
			return true
		}
		t := time.NewTimer(end - l.w.now())
		select {
		case <-moved:
		case <-t.C:
			return false
		case <-l.dead:
			return false
		}
		t.Stop()
	}
}

func (l *life) leading() writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writer
}

// open opens the store. A log that does not answer has the process begin anew.
func (l *life) open() bool {
	for {
		s, err := store.Open(store.Options{Dir: "data", FS: l.fs, Log: l.conn, DeleteAtOnce: 1, TableBytes: 64 << 10, CacheBytes: 1 << 20, FreeSpace: func() (uint64, error) { return 1 << 40, nil }})
		if err == nil {
			l.mu.Lock()
			l.s = s
			l.mu.Unlock()
			l.w.audit.whole(l, 1)
			return true
		}
		if errors.Is(err, store.ErrHistory) || errors.Is(err, store.ErrDamaged) {
			l.w.audit.problem("%s: %v", l, err)
			return false
		}
		l.w.say("%s cannot start: %v", l, err)
		if !l.wait(500*time.Millisecond, nil) {
			return false
		}
	}
}

// run is the life of the process.
func (l *life) run() {
	if !l.open() {
		return
	}
	l.applied()
	e := election.New(l.node.name, l.w.now(), l.at(), l.term)
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		t.Reset(e.Wake() - l.w.now())
		var in election.Input = election.Tick{}
		select {
		case in = <-l.in:
		default: // what has come goes before the time
			select {
			case in = <-l.in:
			case <-t.C:
			case <-l.dead:
				return
			}
		}
		if !l.pass(3000, "before it decides", nil) {
			return
		}
		for _, x := range e.Step(l.w.now(), in) {
			if !l.pass(300, fmt.Sprintf("before it does %T", x), nil) || !l.do(x) {
				return
			}
		}
	}
}

// do carries out an effect. It returns false at the end of the process.
func (l *life) do(x election.Effect) bool {
	switch x := x.(type) {
	case election.Connect:
		l.connect(x.To)
	case election.Look:
		l.spawn(l.look)
	case election.Lead:
		l.spawn(func() { l.lead(x.Position) })
	case election.Drain:
		l.spawn(l.drain)
	case election.Call:
		l.spawn(func() { l.send(election.HandedOver{OK: l.call(x)}) })
	case election.Restart:
		l.w.say("%s starts anew", l)
		l.spawn(l.answerAll)
		return false
	case election.Quit:
		l.w.say("%s ends", l)
		l.end(l.fs, false)
		return false
	}
	return true
}

// look reads what the log has beyond the store.
func (l *life) look() {
	if l.leading() != nil {
		l.lookUp()
		return
	}
	for {
		at := l.at()
		x, err := l.conn.Read(l.w.t.Context(), commitlog.Position(at+1))
		if err == nil && l.take(x) {
			continue
		}
		if errors.Is(err, commitlog.ErrNone) {
			l.send(election.Ended{Position: at})
		} else {
			l.send(election.Unseen{})
		}
		return
	}
}

// lookUp looks whether another node leads by now.
func (l *life) lookUp() {
	at, term := l.s.LogPlace().Position, l.writerTerm()
	x, err := l.conn.Read(l.w.t.Context(), commitlog.Position(at+1))
	if err == nil {
		if b, wrong := commitlog.ParseBody(x.Body); wrong == nil && b.Term > term {
			l.w.say("%s sees at %d that it does not lead any more", l, x.At)
			l.deposed()
			return
		}
	}
	if errors.Is(err, commitlog.ErrNone) {
		l.send(election.Ended{Position: at})
	} else {
		l.send(election.Unseen{})
	}
}

func (l *life) writerTerm() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term.Number
}

// take applies an entry that was read or sent, and reports whether the store has it now.
func (l *life) take(x commitlog.Entry) bool {
	if !l.pass(1000, "before it applies an entry", nil) {
		return false
	}
	l.applying <- struct{}{}
	defer func() { <-l.applying }()
	if uint64(x.At) != l.s.LogPlace().Position+1 {
		return uint64(x.At) <= l.s.LogPlace().Position
	}
	switch err := l.s.Apply(x); {
	case err == nil:
		l.w.audit.whole(l, 20)
		l.applied()
		return true
	case errors.Is(err, store.ErrNotFollowing): // it leads by now
	case l.s.Failure() == nil:
		l.w.audit.problem("%s: %v", l, err)
	}
	return false
}

// applied notes that the store has moved on, and tells who waits for that.
func (l *life) applied() {
	p := l.s.LogPlace()
	term := election.Term{Number: p.Term}
	if p.Term > 0 {
		v := l.s.View()
		by, err := v.Leader()
		v.Close()
		if err != nil {
			l.w.audit.problem("%s: who leads: %v", l, err)
		}
		term.By, _, _ = strings.Cut(string(by), " ")
	}
	l.w.audit.at(l, p)
	l.mu.Lock()
	if p.Position < l.place.Position { // notes and batches are committed beside each other
		l.mu.Unlock()
		return
	}
	l.place, l.term = p, term
	close(l.moved)
	l.moved = make(chan struct{})
	l.mu.Unlock()
	l.send(election.Applied{Position: p.Position, Term: term})
}

// lead begins a term, and builds what it writes with.
func (l *life) lead(position uint64) {
	by := l.w.uniquely(l)
	l.applying <- struct{}{}
	term, err := uint64(0), store.ErrDeposed
	if l.s.LogPlace().Position == position {
		term, err = l.s.Lead([]byte(by))
	}
	<-l.applying
	switch {
	case err == nil:
		l.w.say("%s leads term %d from %d on", l, term, l.s.LogPlace().Position)
		l.w.audit.claim(l)
		l.w.audit.whole(l, 1)
		l.w.audit.began(l, term)
		l.applied()
		wr := l.w.build(l, term)
		l.mu.Lock()
		l.writer = wr
		l.mu.Unlock()
		l.send(election.Led{Position: l.at(), Term: term})
	case errors.Is(err, store.ErrDeposed):
		l.w.say("%s comes too late to lead", l)
		l.conn.forget()
		l.send(election.NotLed{})
	case l.s.Failure() == nil:
		l.w.audit.problem("%s: lead: %v", l, err)
	}
}

// uniquely is what a node says of itself when it begins a term.
func (w *world) uniquely(l *life) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leads++
	return fmt.Sprint(l.node.name, " ", w.leads)
}

// deposed has the process end its term.
func (l *life) deposed() {
	l.w.say("%s is deposed", l)
	l.send(election.Deposed{})
}

// answerAll answers whoever waits, in the time that a leader takes to leave, and has the process start anew.
func (l *life) answerAll() {
	late := time.AfterFunc(election.MaxLeave, func() { l.end(l.fs, true) })
	defer late.Stop()
	l.leading().drain()
	l.wait(50*time.Millisecond, nil) // the answers are on their way
	l.pass(1000, "before it starts anew", nil)
	l.end(l.fs, true)
}

// drain has a leader write what it has taken, and nothing more.
func (l *life) drain() {
	l.leading().drain()
	if l.pass(100, "before it says that it has written all", nil) {
		l.send(election.Drained{Position: l.s.LogPlace().Position})
	}
}

// call asks another node to lead, and reports whether that does so within a second.
func (l *life) call(x election.Call) bool {
	to := l.w.named(x.Node)
	if !l.travel() || to == nil || !l.w.carries(l.node.name, x.Node) {
		return false
	}
	l.w.say("%s asks %s to lead from %d on", l, to, x.Position)
	to.send(election.Called{Position: x.Position})
	for range 20 {
		if !l.wait(50*time.Millisecond, nil) {
			return false
		}
		if to.leading() != nil && l.w.carries(l.node.name, x.Node) {
			return true
		}
	}
	return false
}
