package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/election"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
)

// world is some nodes, their log, the network between them, and clients. All of it lives in one bubble.
type world struct {
	*dice  // of what happens to the world
	seed   uint64
	faults *dice // of the log
	t      *testing.T
	begun  time.Time
	log    shared
	nodes  []*node
	audit  *audit
	build  func(*life, uint64) writer // what a leader writes with
	plant  plant
	still  bool           // nobody keeps notes
	ended  sync.WaitGroup // lives that are over
	shelf  *shelf

	mu    sync.Mutex // guards all below
	calm  bool       // nothing goes wrong any more
	apart map[[2]string]bool
	slow  time.Duration // what an answer of the log takes at most
	lines []string
	tell  bool
	leads int // tries to lead, of all nodes
	trap  trap
}

// trap is a place at which a process freezes, once.
type trap struct {
	name, where string
	length      time.Duration
}

// springs returns for how long a process is to freeze that has come to a place; 0 is not at all.
func (w *world) springs(l *life, where string) (d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trap.name == l.String() && w.trap.where == where {
		d, w.trap = w.trap.length, trap{}
	}
	return d
}

// theLog is the name of the log in the network.
const theLog = "the log"

// kind of world: with stores alone, or with the door and the ledger of repositories before them.
type kind int

const (
	stores kind = iota
	doors
	buckets // as stores, with the log in an object store
)

func newWorld(t *testing.T, seed uint64, k kind, p plant) *world {
	w := &world{
		t: t, begun: time.Now(), plant: p, seed: seed, dice: newDice(seed, "world"), faults: newDice(seed, theLog), apart: map[[2]string]bool{}, slow: 40 * time.Millisecond,
		tell: *replay >= 0, build: newStoreTerm, shelf: newShelf(),
	}
	if k == doors {
		w.build = newDoorTerm
	}
	w.audit = newAudit(w)
	if w.log = (inMemory{&logtest.Memory{Fault: w.fault}}); k == buckets {
		w.log = newInBucket(w)
	}
	for i := range 3 + w.roll(3) {
		w.nodes = append(w.nodes, &node{w: w, name: string(rune('a' + i)), disk: newDisk()})
	}
	return w
}

func (w *world) now() time.Duration { return time.Since(w.begun) }

// say adds a line to the transcript.
func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := fmt.Sprintf("%11v  ", w.now().Round(time.Microsecond)) + fmt.Sprintf(format, args...)
	w.lines = append(w.lines, line)
	if w.tell {
		fmt.Fprintln(w.t.Output(), line)
	}
}

// calms reports whether nothing goes wrong any more.
func (w *world) calms() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}

// fault is what goes wrong with an append.
func (w *world) fault(x commitlog.Entry) logtest.Fault {
	if w.calms() || w.faults.roll(5) > 0 {
		return logtest.Well
	}
	f := logtest.Fault(w.faults.roll(5))
	if f != logtest.Well {
		w.say("%s: an append at %d meets fault %d", theLog, x.At, f)
	}
	return f
}

func pair(a, b string) [2]string {
	if a > b {
		a, b = b, a
	}
	return [2]string{a, b}
}

// carries reports whether the network carries something between two.
func (w *world) carries(a, b string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.apart[pair(a, b)]
}

func (w *world) cut(a, b string) {
	w.say("%s and %s do not hear each other", a, b)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.apart[pair(a, b)] = true
}

func (w *world) heal() {
	w.say("all hear each other")
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.apart)
}

// named returns what runs now of a node; nil while it is down.
func (w *world) named(name string) *life {
	for _, n := range w.nodes {
		if n.name == name {
			return n.current()
		}
	}
	return nil
}

// leader returns what leads, as far as that thinks so itself; nil where nobody does.
func (w *world) leader() *life {
	for _, n := range w.nodes {
		if l := n.current(); l != nil && l.leading() != nil {
			return l
		}
	}
	return nil
}

// chaos has things go wrong for some time.
func (w *world) chaos(length time.Duration) {
	for w.now() < length {
		n := w.nodes[w.roll(len(w.nodes))]
		if l := w.leader(); l != nil && w.roll(3) == 0 {
			n = l.node
		}
		w.mishap(n)
		for _, n := range w.nodes {
			if n.down() && w.roll(4) == 0 {
				n.start()
			}
		}
		time.Sleep(w.some(5 * time.Second))
	}
}

func (w *world) mishap(n *node) {
	l := n.current()
	switch w.roll(12) {
	case 0, 1:
		if l != nil {
			w.say("%s is killed", l)
			l.kill()
		}
	case 2, 3:
		if l != nil {
			l.freeze(w.while(), "somewhere")
		}
	case 4, 5:
		if l != nil {
			w.say("%s is told to end", l)
			l.send(election.Stop{})
		}
	case 6:
		w.cut(n.name, theLog)
	case 7:
		if other := w.nodes[w.roll(len(w.nodes))]; other != n {
			w.cut(n.name, other.name)
		}
	case 8:
		for _, other := range w.nodes {
			if other != n {
				w.cut(n.name, other.name)
			}
		}
	case 9:
		w.mu.Lock()
		w.slow = 10 * time.Millisecond << w.roll(9)
		w.mu.Unlock()
	default:
		w.heal()
	}
	if w.roll(2) == 0 {
		w.log.Deliver()
	}
}

// peace ends all that goes wrong, and starts what is down.
func (w *world) peace() {
	w.mu.Lock()
	w.calm, w.slow = true, 40*time.Millisecond
	w.mu.Unlock()
	w.say("nothing goes wrong any more")
	w.heal()
	w.log.Deliver()
	for _, n := range w.nodes {
		if l := n.current(); l != nil {
			l.thaw()
		}
	}
}

// patience is how long the nodes may take to agree once nothing goes wrong.
const patience = 2 * time.Minute

// settle waits until one node leads and all have the whole log.
func (w *world) settle() bool {
	why := ""
	for end := w.now() + patience; w.now() < end; time.Sleep(500 * time.Millisecond) {
		for _, n := range w.nodes {
			if n.down() {
				n.start()
			}
		}
		if why = w.unsettled(); why == "" {
			w.say("all agree")
			return true
		}
	}
	w.audit.problem("after %v of peace %s", patience, why)
	return false
}

func (w *world) unsettled() string {
	leaders := 0
	for _, n := range w.nodes {
		l := n.current()
		switch {
		case l == nil:
			return n.name + " is down"
		case l.leading() != nil:
			leaders++
		}
		if at := l.at(); at != uint64(w.log.last()) {
			return fmt.Sprintf("%s is at %d of %d", n.name, at, w.log.last())
		}
	}
	if leaders != 1 {
		return fmt.Sprintf("%d nodes lead", leaders)
	}
	return ""
}

// end stops all nodes at once.
func (w *world) end() {
	for _, n := range w.nodes {
		n.retire()
	}
	w.ended.Wait()
}

// last are the last lines of the transcript.
func (w *world) last(n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(slices.Clone(w.lines[max(0, len(w.lines)-n):]), "\n")
}
