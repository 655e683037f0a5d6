package reconcile

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/paging"
)

// relay is a relay with which one filter is compared, and this side of it. Events are named by their number.
type relay struct {
	t      *testing.T
	theirs map[nostr.ID]int64 // what the relay has: when each was created
	ours   map[nostr.ID]int64

	shows     int               // the newest of its events that it compares; 0 = all
	tooBig    int               // events of a window that it does not compare; 0 = any number
	atOnce    int               // ids that it gives at once; 0 = any number
	keeps     map[nostr.ID]bool // what it shows and does not give
	counts    bool              // what it keeps counts against the limit of a REQ
	byPage    map[nostr.ID]bool // what it gives in pages alone
	proven    bool              // all was read in full before
	most      int               // that a probe may ask for
	truncates bool              // it was found to
	sparse    bool              // mostly nothing matches
	answerCap int               // the most that one probe brought
	withheld  Withheld
	now       time.Duration

	n     *Comparison
	log   []string // what was done
	got   map[nostr.ID]int
	equal int // on both sides, in all windows
}

func id(n int) (x nostr.ID) {
	binary.BigEndian.PutUint64(x[:], uint64(n)<<20)
	return x
}

// newRelay has a relay with events of so many seconds, one in each, the first of which are here.
func newRelay(t *testing.T, theirs, here int) *relay {
	r := &relay{t: t, theirs: map[nostr.ID]int64{}, ours: map[nostr.ID]int64{}, got: map[nostr.ID]int{}, keeps: map[nostr.ID]bool{}, byPage: map[nostr.ID]bool{}, most: MostProbed}
	for n := 1; n <= theirs; n++ {
		r.theirs[id(n)] = at(n)
		if n <= here {
			r.ours[id(n)] = at(n)
		}
	}
	return r
}

func at(n int) int64 { return 1_700_000_000 + int64(n) }

// in returns the events of a span, the newest first.
func in(of map[nostr.ID]int64, s paging.Span) (out []nostr.Stamp) {
	for x, at := range of {
		if at >= s.Since && at <= s.Until {
			out = append(out, nostr.Stamp{ID: x, CreatedAt: at})
		}
	}
	slices.SortFunc(out, func(a, b nostr.Stamp) int {
		if a.CreatedAt != b.CreatedAt {
			return int(b.CreatedAt - a.CreatedAt)
		}
		return a.ID.Compare(b.ID)
	})
	return out
}

func setOf(events []nostr.Stamp) *negentropy.Set {
	var items []negentropy.Item
	for _, x := range events {
		items = append(items, negentropy.Item{Time: uint64(x.CreatedAt), ID: x.ID})
	}
	return negentropy.NewSet(items)
}

func (r *relay) note(format string, args ...any) { r.log = append(r.log, fmt.Sprintf(format, args...)) }

func (r *relay) receive(x nostr.Stamp) {
	r.ours[x.ID] = x.CreatedAt
	r.got[x.ID]++
	r.n.Arrived(x.ID)
}

// next does what is to be done next. It reports whether there is more.
func (r *relay) next(facts Facts) bool {
	return r.follow(r.n.Next(r.with(facts)), facts.Others)
}

// with adds to facts what is known of the relay.
func (r *relay) with(facts Facts) Facts {
	facts.Now, facts.Withheld, facts.AtOnce = r.now, r.withheld, 100
	facts.Truncates, facts.AnswerCap, facts.Most, facts.Sparse = r.truncates, r.answerCap, r.most, r.sparse
	facts.Proven = func(bool) bool { return r.proven }
	return facts
}

// follow does what is ordered. It reports whether there is more.
func (r *relay) follow(o Order, others func() map[nostr.ID]struct{}) bool {
	switch {
	case o.LookUp != nil:
		r.lookUp(o.LookUp, others)
	case o.Fetch != nil:
		r.fetch(o.Fetch)
	case o.Probe != nil:
		r.probe(o.Probe)
	case o.Load != nil:
		r.compare(*o.Load)
	case o.Page != nil:
		r.log = append(r.log, map[bool]string{true: "missing", false: "page"}[r.n.Paged()])
		r.page(*o.Page)
	case o.Done:
		r.withheld.Note(r.n.Missing(), r.n.Paged(), r.now)
		return false
	default:
		r.t.Fatal("nothing is ordered")
	}
	return true
}

func (r *relay) lookUp(ids []nostr.ID, others func() map[nostr.ID]struct{}) {
	var unknown []nostr.ID
	var known []nostr.Stamp
	for _, x := range ids {
		if at, here := r.ours[x]; here {
			known = append(known, nostr.Stamp{ID: x, CreatedAt: at})
		} else {
			unknown = append(unknown, x)
		}
	}
	r.note("look %d up", len(unknown)+len(known))
	r.n.LookedUp(unknown, known, others)
}

func (r *relay) fetch(b *Batch) {
	r.note("fetch %d", len(b.IDs()))
	gives := b.IDs()
	if r.atOnce > 0 {
		gives = gives[:min(r.atOnce, len(gives))]
	}
	for _, x := range gives {
		if at, has := r.theirs[x]; has && !r.keeps[x] && !r.byPage[x] {
			r.n.Received(nostr.Stamp{ID: x, CreatedAt: at})
			b.Came(x)
			r.receive(nostr.Stamp{ID: x, CreatedAt: at})
		}
	}
	b.Answered()
}

func (r *relay) compare(w paging.Span) {
	n := r.n
	msg := n.Open(setOf(in(r.ours, w)), nil, 60_000, 0)
	shown := in(r.theirs, w)
	if r.tooBig > 0 && len(shown) > r.tooBig {
		r.note("too big")
		n.TooBig(time.Unix(at(1000), 0))
		return
	}
	if r.shows > 0 {
		shown = shown[:min(r.shows, len(shown))]
	}
	r.note("compare")
	theirs := setOf(shown)
	for told := (*Compared)(nil); told == nil; {
		answer, err := negentropy.Respond(theirs, 60_000, msg)
		if err != nil {
			r.t.Fatal(err)
		}
		if msg, told, err = n.Take(answer); err != nil {
			r.t.Fatal(err)
		}
		if told != nil {
			r.truncates = r.truncates || told.Truncated
			r.equal += told.Equal
		}
	}
}

func (r *relay) probe(q *Probe) {
	r.note("probe %d", q.Limit)
	gives, kept := in(r.theirs, q.Span), func(x nostr.Stamp) bool { return r.keeps[x.ID] }
	if !r.counts {
		gives = slices.DeleteFunc(gives, kept)
	}
	for _, x := range slices.DeleteFunc(gives[:min(q.Limit, len(gives))], kept) {
		r.n.Received(x)
		r.receive(x)
	}
	brought, _ := r.n.Probed(r.answerCap)
	r.answerCap = max(r.answerCap, brought)
}

func (r *relay) page(s paging.Span) {
	for _, x := range in(r.theirs, s) {
		if !r.keeps[x.ID] {
			r.n.Received(x)
			r.receive(x)
		}
	}
}

// run compares all.
func (r *relay) run() {
	r.t.Helper()
	r.n, r.log = New(paging.From(0), 10_000), nil
	for n := 0; r.next(Facts{}); n++ {
		if n > 3000 {
			r.t.Fatalf("it goes on and on: %v", r.log[:20])
		}
	}
}

// lacks are the events that the relay gives and that are not here.
func (r *relay) lacks() (n int) {
	for x := range r.theirs {
		if _, here := r.ours[x]; !here && !r.keeps[x] {
			n++
		}
	}
	return n
}

func (r *relay) expect(log ...string) {
	r.t.Helper()
	if got := strings.Join(r.log, ", "); got != strings.Join(log, ", ") {
		r.t.Errorf("did\n%s\nnot\n%s", got, strings.Join(log, ", "))
	}
	if n := r.lacks(); n > 0 {
		r.t.Errorf("%d events are lacked", n)
	}
}

// What the relay shows is looked up, and got by id where it is not here; then a small REQ asks for what may be below.
func TestAComparison(t *testing.T) {
	r := newRelay(t, 300, 50)
	r.ours[id(7000)] = at(90) // the relay lacks it
	r.run()
	r.expect("compare", "look 250 up", "fetch 100", "fetch 100", "fetch 50", "probe 20", "probe 20")
	if !r.n.Complete() || r.n.Paged() || len(r.n.Missing()) > 0 || r.n.Size() != (Size{Opens: 1}) {
		t.Errorf("%+v", r.n.Size())
	}
	for x, times := range r.got {
		if times > 1 && r.theirs[x] > at(2) {
			t.Errorf("%v came %d times", x[:8], times)
		}
	}
	r.run() // a relay that has shown how much it brings is asked once
	r.expect("compare", "probe 20")
	r.proven = true
	r.run()
	r.expect("compare", "probe 20")
	if r.n.Size().Set > 0 {
		t.Error("the set is kept")
	}
}

// What a window told: what is equal, what differs.
func TestWhatAWindowTold(t *testing.T) {
	r := newRelay(t, 10, 8)
	r.ours[id(7000)] = at(5)
	r.n = New(paging.From(0), 10_000)
	n := r.n
	w := n.Next(r.with(Facts{})).Load
	if w == nil {
		t.Fatal("not compared at first")
	}
	first := n.Open(setOf(in(r.ours, *w)), make([]int16, 9), 60_000, 0)
	if n.Size().Set != 9 {
		t.Errorf("%+v", n.Size())
	}
	if !n.Reopen() || n.Reopen() {
		t.Error("a lost session is opened again and again, or never")
	}
	answer, _ := negentropy.Respond(setOf(in(r.theirs, *w)), 60_000, first)
	reply, told, err := n.Take(answer)
	if reply != nil || err != nil || told == nil {
		t.Fatalf("reply %v, told %v, %v", reply, told, err)
	}
	if told.Differ != 3 || told.Equal != 8 || told.Truncated || !told.Told() || told.Set.Len() != 9 || len(told.Lacks) != 1 || n.Needs() != 2 {
		t.Errorf("%d differ, %d are equal, told %v", told.Differ, told.Equal, told.Window)
	}
	if n.Size().Set > 0 {
		t.Error("the set is kept")
	}
	if len(n.Next(r.with(Facts{})).LookUp) != 2 {
		t.Error("what was shown is forgotten")
	}
	if !n.Reopen() {
		t.Error("the next session is not opened again")
	}
}

// A reconciliation fails where more differs than it may.
func TestTheBoundOfWhatDiffers(t *testing.T) {
	r := newRelay(t, 0, 0)
	for n := 1; n < 50; n++ {
		r.ours[id(n)] = at(n)
	}
	n := New(paging.From(0), 10_000)
	answer, err := negentropy.Respond(setOf(nil), 60_000, n.Open(setOf(in(r.ours, paging.From(0))), nil, 60_000, 10))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = n.Take(answer); err == nil {
		t.Error("any number differs")
	}
}

// A relay that compares its newest events only is found out, and the rest is paged then and from then on.
func TestARelayThatCuts(t *testing.T) {
	for _, shows := range []int{1, 2, 10, 99} {
		r := newRelay(t, 100, 0)
		r.shows = shows
		r.run()
		if r.lacks() > 0 || !r.truncates {
			t.Errorf("shows %d: %d are lacked, found out %v: %v", shows, r.lacks(), r.truncates, r.log)
		}
		r.theirs[id(500)] = at(0) // old, and new there
		r.run()
		if r.lacks() > 0 || r.log[len(r.log)-1] != "page" {
			t.Errorf("shows %d: then %d are lacked: %v", shows, r.lacks(), r.log)
		}
	}
}

// A relay that cuts is found out also where it counts events against the limit of a REQ that it does not give.
func TestARelayThatCutsAndCounts(t *testing.T) {
	for _, keeps := range []int{1, 3, 10} {
		for _, shows := range []int{1, 2, 10, 50} {
			r := newRelay(t, 100, 0)
			r.shows, r.counts = shows, true
			for n := range keeps {
				r.keeps[id(100-shows-n)] = true
			}
			r.run()
			if r.lacks() > 0 || !r.truncates {
				t.Errorf("shows %d, keeps %d: %d are lacked, found out %v: %v", shows, keeps, r.lacks(), r.truncates, r.log)
			}
		}
	}
}

// What came to the relay between a comparison and its probe is news and no proof.
func TestNewsIsNoProof(t *testing.T) {
	r := newRelay(t, 20, 20)
	r.n = New(paging.From(0), 10_000)
	r.compare(paging.From(0))
	r.theirs[id(100)] = at(-5)
	for r.next(Facts{}) {
	}
	r.expect("compare", "probe 20", "compare", "probe 20")
	if r.truncates || !r.n.Complete() {
		t.Error("news counts as proof")
	}
	if r.equal != 20 {
		t.Errorf("%d events are on both sides", r.equal)
	}
}

// Where a small REQ could not tell, that part is paged: many events of one second, or many that are shown and not given.
func TestWhatAProbeCannotTell(t *testing.T) {
	r := newRelay(t, 0, 0)
	for n := range 30 {
		r.theirs[id(n+1)] = at(1)
	}
	r.shows = 25
	r.run()
	if r.lacks() > 0 || !slices.Contains(r.log, "page") {
		t.Errorf("%d are lacked: %v", r.lacks(), r.log)
	}
	r = newRelay(t, 30, 0)
	for n := range 25 {
		r.keeps[id(n+1)] = true
	}
	r.run()
	if !slices.Contains(r.log, "page") || r.lacks() > 0 {
		t.Errorf("%v", r.log)
	}
}

// What pages bring that was not shown is compared once more, as it may be news. Where more comes then, the comparison ends there: not all was compared.
func TestNewsInPages(t *testing.T) {
	r := newRelay(t, 0, 0)
	for n := range MostProbed {
		r.theirs[id(n+1)] = at(1)
	}
	r.n = New(paging.From(0), 10_000)
	for r.next(Facts{}) {
		if last := r.log[len(r.log)-1]; last == "compare" || strings.HasPrefix(last, "fetch") {
			r.theirs[id(100+len(r.log))] = at(0)
		}
	}
	r.expect("compare", "look 20 up", "fetch 20", "page", "compare", "probe 20", "page")
	if r.truncates || r.n.Complete() {
		t.Errorf("cuts: %v, complete: %v", r.truncates, r.n.Complete())
	}
}

// Where mostly nothing matches, an empty answer is believed, but not of a relay that cuts.
func TestWhereMostlyNothingMatches(t *testing.T) {
	r := newRelay(t, 0, 0)
	r.sparse = true
	r.run()
	r.expect("compare")
	r.truncates = true
	r.run()
	r.expect("compare", "page")
	r = newRelay(t, 0, 0)
	r.run()
	r.expect("compare", "probe 20")
	r = newRelay(t, 3, 0)
	r.sparse = true
	r.shows = 1
	if r.run(); r.lacks() > 0 {
		t.Errorf("what showed something is believed: %v", r.log)
	}
}

// What came out of time in the answer to a probe tells nothing.
func TestAnAnswerOutOfTime(t *testing.T) {
	for name, x := range map[string]nostr.Stamp{"later": {ID: id(9), CreatedAt: at(9)}, "earlier": {ID: id(9), CreatedAt: -1}} {
		r := newRelay(t, 3, 3)
		r.n = New(paging.From(0), 10_000)
		r.compare(paging.From(0))
		r.n.Next(r.with(Facts{}))
		r.n.Received(x)
		if brought, hidden := r.n.Probed(0); hidden || brought != 0 || r.n.Next(r.with(Facts{})).Page == nil {
			t.Errorf("%s: it counts", name)
		}
	}
	r := newRelay(t, 3, 3)
	r.n = New(paging.From(0), 10_000)
	r.compare(paging.From(0))
	r.n.Next(r.with(Facts{}))
	for range 2 {
		r.n.Received(nostr.Stamp{ID: id(1), CreatedAt: at(1)})
	}
	if brought, _ := r.n.Probed(0); brought != 1 {
		t.Errorf("an event counts %d times", brought)
	}
}

// A probe leaves room for what may fill its answer unseen, where it may ask for so much.
func TestAProbeLeavesRoom(t *testing.T) {
	r := newRelay(t, 30, 0)
	for n := range 25 {
		r.keeps[id(n+1)] = true
	}
	r.n, r.most = New(paging.From(0), 10_000), 500
	for {
		o := r.n.Next(r.with(Facts{}))
		if o.Probe != nil {
			if o.Probe.Limit != 25+1+1+1 { // those that are kept, of two seconds one each, and one below
				t.Errorf("it asks for %d", o.Probe.Limit)
			}
			return
		}
		r.follow(o, nil)
	}
}

// What comes in a page that did not ask for it, as it is newer, was not hidden.
func TestAPageOutOfTime(t *testing.T) {
	r := newRelay(t, 5, 5)
	r.n = New(paging.From(0), 10_000)
	r.compare(paging.From(0))
	r.n.Next(r.with(Facts{}))
	r.n.Received(nostr.Stamp{ID: id(9), CreatedAt: -1})
	r.n.Probed(0)
	if r.n.Next(r.with(Facts{})).Page == nil {
		t.Fatal("nothing is paged")
	}
	for n := 5; n > 0; n-- {
		r.n.Received(nostr.Stamp{ID: id(n), CreatedAt: at(n)})
	}
	for r.next(Facts{}) {
	}
	r.expect("compare")
}

// The time of an event counts once, however often it is told.
func TestATimeIsToldTwice(t *testing.T) {
	var e oldestShown
	e.show(id(1))
	e.show(id(2))
	for range 2 {
		e.date(id(1), at(1))
	}
	if e.first != (instant{at(1), 1}) || e.undated != 1 {
		t.Errorf("%+v", e)
	}
}

// A window that is too big is halved, where the set here has its middle or in time; in the end it is paged.
func TestSplitting(t *testing.T) {
	for _, here := range []int{0, 64} {
		r := newRelay(t, 64, here)
		r.tooBig = 10
		r.run()
		if r.lacks() > 0 || !r.n.Complete() || !slices.Contains(r.log, "too big") {
			t.Errorf("%d here: %d are lacked, %v", here, r.lacks(), r.log)
		}
		if n := len(slices.DeleteFunc(r.log, func(s string) bool { return s != "too big" })); here > 0 && n > 9 {
			t.Errorf("halved %d times, where the middle is known", n)
		}
	}
	n := New(paging.Span{Since: at(5), Until: at(5)}, 10_000)
	n.Open(setOf(nil), nil, 60_000, 0)
	if n.split(time.Unix(at(9), 0)) {
		t.Error("a second is halved")
	}
	n = New(paging.From(at(0)), 10_000)
	n.Open(setOf(nil), nil, 60_000, 0)
	n.TooBig(time.Unix(at(100), 0))
	if w := n.window(); w.Since != at(51) || w.Until != paging.Forever || n.Size().Windows != 2 {
		t.Errorf("goes on with %v", w)
	}
	n.GiveUp()
	if s := n.Next(Facts{}).Page; s == nil || *s != paging.From(at(0)) || n.Complete() || !n.Next(Facts{}).Done {
		t.Errorf("paged is %v", s)
	}
	for range MostOpens {
		n.Open(setOf(nil), nil, 60_000, 0)
	}
	n.windows = []paging.Span{paging.From(0)}
	if n.split(time.Unix(at(100), 0)) || n.Next(Facts{}).Page == nil {
		t.Error("halved for ever")
	}
}

// A relay that does not compare is paged.
func TestARelayThatRefuses(t *testing.T) {
	r := newRelay(t, 10, 0)
	r.n = New(paging.From(0), 10_000)
	for r.next(Facts{Refused: true}) {
	}
	r.expect("page")
	if r.n.Complete() {
		t.Error("what was paged counts as compared")
	}
	r = newRelay(t, 10, 5)
	r.n = New(paging.From(0), 10_000)
	r.compare(paging.From(0))
	if r.n.Needs() != 5 {
		t.Fatal("nothing is needed")
	}
	r.n.Open(setOf(in(r.ours, r.n.window())), nil, 60_000, 0)
	r.n.GiveUp()
	if s := r.n.Next(Facts{}).Page; s == nil || *s != paging.From(0) || r.n.Fetching() || r.n.Size().Set > 0 {
		t.Errorf("%d are needed beside pages of %v, %+v", r.n.Needs(), s, r.n.Size())
	}
}

// What does not come by id is looked up and asked for once more, then in smaller portions where some come, then in pages; and not again for a week.
func TestWhatDoesNotCome(t *testing.T) {
	r := newRelay(t, 40, 0)
	r.keeps[id(40)] = true
	r.byPage[id(39)] = true
	r.run()
	r.expect("compare", "look 40 up", "fetch 40", "look 2 up", "fetch 2", "probe 20", "probe 20", "missing")
	if len(r.n.Missing()) != 1 || !r.n.Paged() || r.withheld.Len() != 1 {
		t.Errorf("missing %d, withheld %d", len(r.n.Missing()), r.withheld.Len())
	}
	for _, x := range []struct {
		now   time.Duration
		pages bool
	}{{0, false}, {withheldFor - 1, false}, {withheldFor, true}} {
		r.now = x.now
		if r.run(); slices.Contains(r.log, "missing") != x.pages || len(r.n.Missing()) != 1 {
			t.Errorf("at %v: %v", r.now, r.log)
		}
	}
	r = newRelay(t, 40, 0)
	r.atOnce = 7
	r.run()
	if r.lacks() > 0 || !slices.Contains(r.log, "fetch 7") || slices.Contains(r.log, "missing") {
		t.Errorf("gives few at once: %v", r.log)
	}
	n := NewFetch(ids(1, 21))
	b := n.ask(10)
	for _, x := range b.IDs()[:8] {
		b.Came(x)
	}
	if b.Answered(); len(n.ask(10).IDs()) != 10 {
		t.Error("asks for few of a relay that gives most")
	}
	n = NewFetch(ids(1, 5))
	b = n.ask(3)
	if b.PutBack(); n.Needs() != 4 || n.Next(Facts{AtOnce: 10}).Fetch == nil {
		t.Errorf("put back: %d needed", n.Needs())
	}
}

// A relay that shows thousands of events that it does not give costs a few requests for each thousand, whether it gives one now and then or
// none, and what it gives is here in the end.
func TestManyThatAreNotGiven(t *testing.T) {
	for _, every := range []int{3001, 101, 20, 7} {
		r := newRelay(t, 3000, 0)
		for n := range 3000 {
			r.keeps[id(n)] = n%every != every-1
		}
		r.run()
		fetches := 0
		for _, l := range r.log {
			if strings.HasPrefix(l, "fetch") {
				fetches++
			}
		}
		if fetches > 45 || r.lacks() > 0 {
			t.Errorf("one of %d is given: %d requests, %d are not here", every, fetches, r.lacks())
		}
	}
}

func set(ids []nostr.ID) map[nostr.ID]struct{} {
	m := make(map[nostr.ID]struct{})
	for _, x := range ids {
		m[x] = struct{}{}
	}
	return m
}

func ids(from, to int) (out []nostr.ID) {
	for n := from; n < to; n++ {
		out = append(out, id(n))
	}
	return out
}

// What came otherwise between the two rounds is not asked for again: it is looked up before.
func TestWhatCameOtherwise(t *testing.T) {
	r := newRelay(t, 3, 0)
	r.keeps[id(2)] = true
	r.n = New(paging.From(0), 10_000)
	for r.log == nil || !strings.HasPrefix(r.log[len(r.log)-1], "fetch") {
		r.next(Facts{})
	}
	r.ours[id(2)] = at(2)
	for r.next(Facts{}) {
	}
	r.expect("compare", "look 3 up", "fetch 3", "look 1 up", "probe 20", "probe 20", "probe 20")
}

// A fetch alone asks for events as long as something comes.
func TestAFetch(t *testing.T) {
	n := NewFetch(append(ids(1, 6), id(1)))
	ask := func(wants int, come ...int) {
		t.Helper()
		b := n.Next(Facts{AtOnce: 10}).Fetch
		if b == nil {
			t.Fatal("nothing is asked")
		}
		awaited := make(map[nostr.ID]struct{})
		n.AddAwaited(awaited)
		if len(b.IDs()) != wants || len(b.Lacks()) != wants || !n.Fetching() || len(awaited) != wants+len(set(n.need)) {
			t.Errorf("asked for %d", len(b.IDs()))
		}
		for _, x := range come {
			b.Came(id(x))
			n.Arrived(id(x))
		}
		b.Answered()
	}
	ask(5, 1, 2) // and the rest in portions of two
	ask(2, 3)
	if n.Has(id(5)) || !n.Has(id(3)) {
		t.Error("what came")
	}
	ask(1, 5) // one came of two
	ask(1)
	if !n.Next(Facts{}).Done || n.Fetching() || n.Has(id(4)) || !n.Has(id(5)) || len(n.Missing()) != 1 {
		t.Errorf("missing %v", n.Missing())
	}
	if n.Arrived(id(4)); !n.Has(id(4)) {
		t.Error("what came otherwise is missing")
	}
}

// What others ask for is waited for, and asked for where they did not get it.
func TestWhatOthersAskFor(t *testing.T) {
	r := newRelay(t, 10, 4)
	r.proven = true
	others := map[nostr.ID]struct{}{id(9): {}, id(10): {}}
	t1 := Facts{Others: func() map[nostr.ID]struct{} { return others }}
	r.n = New(paging.From(0), 10_000)
	for len(r.log) < 3 {
		r.next(t1)
	}
	r.log[2] += "!"
	b := &Batch{of: r.n}
	r.n.batches = []*Batch{b}
	if got := r.n.Next(r.with(t1)); got.Behind || got.Done || got.Probe != nil || !r.n.Fetching() {
		t.Errorf("does not wait for what is being decided: %+v", got)
	}
	b.Answered()
	if !r.n.Next(r.with(t1)).Behind {
		t.Error("does not wait for others")
	}
	r.receive(nostr.Stamp{ID: id(9), CreatedAt: at(9)})
	others = nil
	for r.next(t1) {
	}
	r.expect("compare", "look 6 up", "fetch 4!", "look 2 up", "fetch 1", "probe 20")
	if r.got[id(10)] != 1 || r.got[id(9)] != 1 {
		t.Error("something came twice")
	}
}

// What was asked for in an earlier window is not asked for again.
func TestWhatIsShownInSeveralWindows(t *testing.T) {
	n := NewFetch(nil)
	n.round = first
	n.late, n.missing = ids(1, 2), map[nostr.ID]struct{}{id(2): {}}
	none := func() map[nostr.ID]struct{} { return nil }
	n.LookedUp(ids(1, 4), nil, none)
	if !slices.Equal(n.need, ids(3, 4)) {
		t.Errorf("needed %v", n.need)
	}
	n.LookedUp(ids(1, 5), nil, func() map[nostr.ID]struct{} { return map[nostr.ID]struct{}{id(1): {}, id(2): {}, id(3): {}} })
	if !slices.Equal(n.need, ids(4, 5)) || !slices.Equal(n.late, []nostr.ID{id(1), id(3)}) {
		t.Errorf("needed %v, and %v later", n.need, n.late)
	}
	n.LookedUp(ids(1, 4), nil, nil)
	if n.Needs() != 3 {
		t.Error("what others ask for is asked nowhere")
	}
}

// What is withheld is remembered for a week, within a bound.
func TestWithheld(t *testing.T) {
	var w Withheld
	missing := func(from, to int) map[nostr.ID]struct{} {
		m := make(map[nostr.ID]struct{})
		for _, x := range ids(from, to) {
			m[x] = struct{}{}
		}
		return m
	}
	w.Note(missing(0, 5), false, 0)
	if w.Len() != 0 {
		t.Error("what was not looked for in pages is given up")
	}
	w.Note(missing(0, 5), true, 0)
	w.Note(missing(5, MostWithheld+50), true, time.Hour)
	if w.Len() != MostWithheld || !w.all(missing(0, 5), time.Hour) || w.all(missing(0, MostWithheld+50), time.Hour) {
		t.Errorf("%d are remembered", w.Len())
	}
	w.Note(missing(0, 3), true, withheldFor-1)
	w.Note(missing(0, 1), true, withheldFor)
	if w.all(missing(3, 4), withheldFor) || !w.all(missing(0, 3), withheldFor) || w.Len() != MostWithheld-2 {
		t.Errorf("%d are remembered after a week", w.Len())
	}
}

// An error of the exchange is told.
func TestAMessageThatIsNone(t *testing.T) {
	n := New(paging.From(0), 10_000)
	n.Open(setOf(nil), nil, 60_000, 0)
	if _, _, err := n.Take([]byte{0}); err == nil {
		t.Error("anything is a message")
	}
}

// A comparison that needs more than it may fails.
func TestTheBoundOfWhatIsNeeded(t *testing.T) {
	r := newRelay(t, 10, 0)
	for _, most := range []int{9, 10} {
		n := New(paging.From(0), most)
		answer, err := negentropy.Respond(setOf(in(r.theirs, paging.From(0))), 60_000, n.Open(setOf(nil), nil, 60_000, 0))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := n.Take(answer); (err != nil) != (most < 10) {
			t.Errorf("with at most %d: %v", most, err)
		}
	}
}

// Random relays: whatever they show, give and cut, all that they give is here in the end.
func TestRelays(t *testing.T) {
	for seed := range uint64(1500) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		r := newRelay(t, 0, 0)
		for n := range rnd.IntN(150) {
			when := at(rnd.IntN(1 + rnd.IntN(120)))
			if rnd.IntN(6) > 0 {
				r.theirs[id(n+1)] = when
			}
			if rnd.IntN(2) == 0 {
				r.ours[id(n+1)] = when
			}
			r.keeps[id(n+1)] = rnd.IntN(40) == 0
			r.byPage[id(n+1)] = rnd.IntN(40) == 0
		}
		r.shows = []int{0, 0, 1 + rnd.IntN(100)}[rnd.IntN(3)]
		r.tooBig = []int{0, 0, 20 + rnd.IntN(40)}[rnd.IntN(3)]
		r.atOnce = []int{0, 0, 1 + rnd.IntN(20)}[rnd.IntN(3)]
		for range 2 {
			r.run()
			if n := r.lacks(); n > 0 {
				t.Fatalf("seed %d: %d are lacked, of a relay that shows %d: %v", seed, n, r.shows, r.log)
			}
			if r.shows == 0 && r.truncates {
				t.Fatalf("seed %d: an honest relay is taken for one that cuts: %v", seed, r.log)
			}
		}
	}
}
