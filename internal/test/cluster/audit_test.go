package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
	"github.com/graspd/graspd/internal/events/store/storecheck"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// audit knows what the nodes have shown and what clients have heard, and notes what does not fit.
type audit struct {
	w *world

	mu       sync.Mutex // guards all below
	chains   map[uint64]store.Place
	owners   map[uint64]string
	feed     map[store.Seq]string
	kept     []heard           // what was acknowledged, and nobody has wanted to delete
	gone     []heard           // what is deleted, as was acknowledged
	unwanted map[nostr.ID]bool // what somebody has wanted to delete
	doomed   []nostr.ID        // what is to be gone in the end
	refused  []nostr.ID
	terms    map[uint64]string // who began a term
	pushed   map[string]heard  // by repository
	shows    map[uint64]view   // what a node showed, by position: the first that was looked at
	problems []string
	checks   map[string]int
}

// view is all that a process showed at a position.
type view struct{ by, text string }

// heard is something that a client heard to be so from a position on.
type heard struct {
	id       nostr.ID
	position uint64
	of       nip34.Address // of a push
	commit   int           // of a push
}

func newAudit(w *world) *audit {
	return &audit{
		w: w, chains: map[uint64]store.Place{}, owners: map[uint64]string{}, feed: map[store.Seq]string{},
		shows: map[uint64]view{}, pushed: map[string]heard{}, unwanted: map[nostr.ID]bool{}, terms: map[uint64]string{}, checks: map[string]int{},
	}
}

func (a *audit) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	a.w.say("WRONG: %s", text)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.problems = append(a.problems, text)
}

func (a *audit) wrong() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.problems)
}

func (a *audit) count(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checks[what]++
}

// at notes where a store has the log: equal chains at equal positions.
func (a *audit) at(l *life, p store.Place) {
	a.mu.Lock()
	other, ok := a.chains[p.Position]
	if !ok {
		a.chains[p.Position] = p
	}
	a.mu.Unlock()
	if ok && other != p {
		a.problem("%s is at %d of term %d with chain %s, and others with %s of term %d", l, p.Position, p.Term, commitlog.Chain(p.Chain), commitlog.Chain(other.Chain), other.Term)
	}
}

// claim notes the entries of which a leader has heard that they are its own: the log has them, and nobody else heard so.
func (a *audit) claim(l *life) {
	upTo := l.s.LogPlace().Position
	for at, x := range l.conn.mine(upTo) {
		there, err := a.w.log.truth(commitlog.Position(at))
		if err != nil || there.Chain != x.Chain {
			a.problem("%s goes on after %d, where the log has something else than it wrote (%v)", l, at, err)
		}
		a.mu.Lock()
		owner, ok := a.owners[at]
		a.owners[at] = l.String()
		a.mu.Unlock()
		if ok && owner != l.String() {
			a.problem("%s and %s have both written position %d", owner, l, at)
		}
	}
}

// mine returns what the process has written up to a position, each entry once.
func (c *conn) mine(upTo uint64) map[uint64]commitlog.Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[uint64]commitlog.Entry{}
	for at, x := range c.wrote {
		if at <= upTo && at > c.claimed {
			out[at] = x
		}
	}
	c.claimed = max(c.claimed, upTo)
	return out
}

// ok notes an event that was acknowledged by a node, where it is to be found at once, also in the feed after the head before.
func (a *audit) ok(l *life, e *nostr.Event, head store.Seq, position uint64) {
	a.mu.Lock()
	a.kept = append(a.kept, heard{id: e.ID, position: position})
	a.mu.Unlock()
	a.count("acknowledged")
	if !l.has(e.ID) && !a.isUnwanted(e.ID) {
		a.problem("%s has said OK to %s, and does not have it", l, short(e.ID))
	}
	entries, _, err := l.s.Since(head, 10_000)
	if err != nil || !slices.ContainsFunc(entries, func(x store.Entry) bool { return x.Event != nil && x.Event.ID == e.ID }) && !a.isUnwanted(e.ID) {
		a.problem("%s has said OK to %s, and does not tell of it after %d of the feed (%v)", l, short(e.ID), head, err)
	}
}

// release notes that somebody wants to delete an event.
func (a *audit) release(id nostr.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unwanted[id] = true
	a.kept = slices.DeleteFunc(a.kept, func(h heard) bool { return h.id == id })
}

// isUnwanted reports whether somebody has wanted to delete an event.
func (a *audit) isUnwanted(id nostr.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unwanted[id]
}

// began notes a term, of which each number belongs to one process.
func (a *audit) began(l *life, term uint64) {
	a.mu.Lock()
	other, ok := a.terms[term]
	a.terms[term] = l.String()
	a.mu.Unlock()
	if ok {
		a.problem("%s and %s lead term %d", other, l, term)
	}
}

// deleted notes that a deletion was acknowledged, which names one event that is gone from then on, and others that go in steps.
func (a *audit) deleted(l *life, id nostr.ID, others []nostr.ID, position uint64) {
	a.mu.Lock()
	a.gone = append(a.gone, heard{id: id, position: position})
	a.doomed = append(a.doomed, others...)
	a.mu.Unlock()
	a.count("deleted")
	if l.has(id) {
		a.problem("%s has said OK to the deletion of %s, and shows it", l, short(id))
	}
}

// turnedAway notes an event of which a client heard for certain that it is not stored.
func (a *audit) turnedAway(id nostr.ID) {
	a.mu.Lock()
	a.refused = append(a.refused, id)
	a.mu.Unlock()
	a.count("refused")
}

// moved notes a push that was acknowledged.
func (a *audit) moved(l *life, of nip34.Address, commit int, position uint64) {
	a.mu.Lock()
	a.pushed[of.String()] = heard{of: of, commit: commit, position: position}
	a.mu.Unlock()
	a.count("pushed")
	a.refs(l, of, commit)
}

// refs requires that a node shows a repository at a commit or a later one.
func (a *audit) refs(l *life, of nip34.Address, commit int) {
	v := l.s.View()
	defer v.Close()
	r, err := refdb.Read(v, of)
	got := 0
	for _, x := range r.Refs.All() {
		got = max(got, numberOf(x.ID))
	}
	if err != nil || got < commit {
		a.problem("%s shows commit %d of %.30s, where %d was pushed (%v)", l, got, of, commit, err)
	}
}

func (l *life) has(id nostr.ID) bool {
	v := l.s.View()
	defer v.Close()
	_, ok, err := v.Get(id)
	if err != nil {
		l.w.audit.problem("%s: %v", l, err)
	}
	return ok
}

// look compares what a node shows with what was acknowledged: some of it, or all.
func (a *audit) look(l *life, all bool) {
	at := l.at()
	a.mu.Lock()
	kept, gone := some(l, a.kept, all), some(l, a.gone, all)
	var pushed []heard
	for _, h := range a.pushed {
		pushed = append(pushed, h)
	}
	a.mu.Unlock()
	for _, h := range kept {
		if h.position <= at && !l.has(h.id) && !a.isUnwanted(h.id) {
			a.problem("%s is at %d, and does not have %s, acknowledged at %d", l, at, short(h.id), h.position)
		}
	}
	for _, h := range gone {
		if h.position <= at && l.has(h.id) {
			a.problem("%s is at %d, and shows %s, deleted at %d", l, at, short(h.id), h.position)
		}
	}
	for _, h := range pushed {
		if h.position <= at {
			a.refs(l, h.of, h.commit)
		}
	}
	a.count("looked")
}

func some(l *life, from []heard, all bool) []heard {
	if all || len(from) < 8 {
		return slices.Clone(from)
	}
	var out []heard
	for range 8 {
		out = append(out, from[l.roll(len(from))])
	}
	return out
}

// told notes entries of a node's feed: a number stands for the same at each node.
func (a *audit) told(l *life, entries []store.Entry) {
	for _, x := range entries {
		text := "removed " + short(x.Removed)
		if x.Event != nil {
			text = "event " + short(x.Event.ID)
		} else if x.Waits != nil {
			text = "waits " + short(x.Waits.ID)
		}
		a.mu.Lock()
		other, ok := a.feed[x.Seq]
		a.feed[x.Seq] = text
		a.mu.Unlock()
		if ok && other != text {
			a.problem("%s tells at %d of the feed %q, and others %q", l, x.Seq, text, other)
		}
	}
}

func short(id nostr.ID) string { return id.String()[:8] }

// whole notes all that a process shows, once in n times: at one position all show the same. It notes nothing where something is written meanwhile.
func (a *audit) whole(l *life, n int) {
	if l.chance("all that it shows").roll(n) != 0 {
		return
	}
	at := l.s.LogPlace()
	v := l.s.View()
	defer v.Close()
	text := contents(v, l.s)
	if l.s.LogPlace() != at {
		return
	}
	a.mu.Lock()
	other, ok := a.shows[at.Position]
	if !ok {
		a.shows[at.Position] = view{l.String(), text}
	}
	a.mu.Unlock()
	if ok && other.text != text {
		a.problem("%s shows at %d:\n%s\nand %s showed:\n%s", l, at.Position, text, other.by, other.text)
	}
	a.count("compared")
}

// replay has a store take the whole log, one entry after the other: at each position it shows what nodes have shown there, whether they wrote it, were
// sent it, read it, or began with it.
func (a *audit) replay() {
	s, err := store.Open(store.Options{Dir: "data", FS: newDisk(), Log: new(logtest.Memory)})
	if err != nil {
		a.problem("a store that takes the whole log: %v", err)
		return
	}
	for at := uint64(1); at <= uint64(a.w.log.last()); at++ {
		x, err := a.w.log.truth(commitlog.Position(at))
		if err == nil {
			err = s.Apply(x)
		}
		if err != nil {
			a.problem("a store that takes the whole log: %v", err)
			break
		}
		was, ok := a.shows[at]
		if !ok {
			continue
		}
		v := s.View()
		text := contents(v, s)
		v.Close()
		if text != was.text {
			a.problem("%s showed at %d:\n%s\nwhere the log has:\n%s", was.by, at, was.text, text)
		}
	}
	if err := s.Close(); err != nil {
		a.problem("a store that takes the whole log: %v", err)
	}
}

// final compares all nodes, once they agree, with each other and with one that begins with nothing, and looks for what should not be there.
func (a *audit) final() {
	var first string
	for _, n := range a.w.nodes {
		l := n.current()
		if l == nil || !l.enter() {
			a.problem("%s is gone", n.name)
			continue
		}
		a.look(l, true)
		a.mu.Lock()
		refused, doomed := slices.Clone(a.refused), slices.Clone(a.doomed)
		a.mu.Unlock()
		for _, id := range doomed {
			if l.has(id) {
				a.problem("%s has %s, which a deletion names", l, short(id))
			}
		}
		for _, id := range refused {
			if l.has(id) {
				a.problem("%s has %s, whose sender heard that it is not stored", l, short(id))
			}
		}
		a.same(&first, l.String(), l.s)
		l.all.Done()
	}
	s, err := store.Open(store.Options{Dir: "data", FS: newDisk(), Log: a.w.log})
	if err != nil {
		a.problem("a node that begins with nothing: %v", err)
		return
	}
	a.same(&first, "a node that begins with nothing", s)
	if err := s.Close(); err != nil {
		a.problem("a node that begins with nothing: %v", err)
	}
}

// same requires that a store is sound and has what the first one had.
func (a *audit) same(first *string, name string, s *store.Store) {
	v := s.View()
	defer v.Close()
	report, err := storecheck.Check(context.Background(), v)
	if err != nil || len(report.Problems) > 0 {
		a.problem("%s is not sound: %v %v", name, err, report.Problems)
	}
	got := contents(v, s)
	if *first == "" {
		*first = got
	}
	if got != *first {
		a.problem("%s differs from the first node:\n%s\n%s", name, got, *first)
	}
}

// contents is what a store shows, as text.
func contents(v *store.View, s *store.Store) string {
	var b strings.Builder
	st := s.Stats()
	st.DiskBytes = 0
	fmt.Fprintf(&b, "%+v %v\n", st, s.LogPlace().Chain)
	for row, err := range v.Query(context.Background(), nostr.Filter{}) {
		fmt.Fprintln(&b, short(row.ID), err)
	}
	err := v.EachWait(func(w store.Waiting) error { fmt.Fprintln(&b, "waits", short(w.Event.ID), w.Until); return nil })
	fmt.Fprintln(&b, err)
	err = v.EachRow("", "", func(name string, value []byte) (bool, error) {
		fmt.Fprintf(&b, "%q %x\n", name, value)
		return true, nil
	})
	fmt.Fprintln(&b, err)
	notes, err := s.Notes()
	fmt.Fprintln(&b, notes, err)
	return b.String()
}
