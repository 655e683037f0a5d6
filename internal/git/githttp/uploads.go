package githttp

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/serve/front"
)

// How many clients may wait for a turn to push.
const (
	mostWaiting     = 64
	mostWaitingEach = 8 // of one address
)

// Which push gives way to one that waits: the slowest of those that are under way for yieldAfter and bring less than enough. That is yieldBelow
// at first, and doubles with each further yieldAfter: so nobody keeps a turn for long while others wait. Where all bring fastEnough that are under way
// for longer than they should be, one of the party gives way that had turns for longest.
const (
	yieldAfter = stallTime
	yieldBelow = 64 << 10  // bytes a second
	fastEnough = 512 << 10 // bytes a second that keep a push from being the slowest
)

// Some turns are for parties that had turns for less than spareAfter lately, so that these need not wait until others have been slow for long.
const (
	sparePart  = 8  // one turn in so many
	spareAfter = 15 // seconds
)

// A push whose whole body is here needs no time of its client, and takes no turn of those that do: it has turns beside them.
const (
	gatherBytes = 64 << 10 // of a body that is read before its push asks for a turn
	turnsBeside = 16
)

// enough returns how many bytes a second a push that had its turn for so long has to bring to keep it while others wait.
func enough(took time.Duration) float64 {
	return yieldBelow * math.Exp2((took-yieldAfter).Seconds()/yieldAfter.Seconds())
}

// uploads hands out turns to push. The address with the fewest pushes under way goes first; of several, the one that had turns for the shortest
// time lately; then the client that came first.
type uploads struct {
	pool   *fair.Account
	beside *fair.Account // turns of pushes whose whole body is here

	mu      sync.Mutex // guards the fields below
	waiting []*turn    // in the order in which they came
	running map[*front.Visitor]int
	turns   map[*turn]struct{}   // turns that are granted and not left yet
	had     bucket.Usage[string] // how long each party had turns lately
}

// turn is a turn that a client has or waits for.
type turn struct {
	of      *front.Visitor
	party   string // "" is the operator, who pays for nothing
	raw     *body
	whole   bool          // the whole body is here
	granted chan struct{} // closed once the client has the turn
	sent    chan struct{} // closed when makeRoom sends the client away
	bound   bool          // the address or its network had as many turns as they may have, when they were last looked for
	began   time.Time     // when the turn was granted
	grant   *fair.Grant
}

func newUploads(pool, beside *fair.Account) *uploads {
	return &uploads{pool: pool, beside: beside, running: map[*front.Visitor]int{}, turns: map[*turn]struct{}{}}
}

// ask returns a turn that is granted or waits; nil where there is no place to wait.
func (u *uploads) ask(one *front.Visitor, party string, raw *body, whole bool) *turn {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := &turn{of: one, party: party, raw: raw, whole: whole, granted: make(chan struct{}), sent: make(chan struct{})}
	if u.grant(t) {
		return t
	}
	if one != nil && u.waits(one) >= mostWaitingEach || len(u.waiting) >= mostWaiting && !u.makeRoom(t) {
		return nil
	}
	u.waiting = append(u.waiting, t)
	return t
}

// waits returns how many turns of an address wait. The caller holds mu.
func (u *uploads) waits(one *front.Visitor) (n int) {
	for _, t := range u.waiting {
		if t.of == one {
			n++
		}
	}
	return n
}

// makeRoom sends away the last client of the address that has the most waiting, and reports whether it did. That address must have more waiting
// than the one of t would have, or as many and have had turns for longer lately. The caller holds mu.
func (u *uploads) makeRoom(t *turn) bool {
	now := time.Now()
	more := func(a, b *turn, more int) int {
		return cmp.Or(u.waits(a.of)-u.waits(b.of)-more, u.had.Seconds(now, a.party)-u.had.Seconds(now, b.party))
	}
	worst := u.waiting[0]
	for _, other := range u.waiting {
		if more(other, worst, 0) > 0 || other.of == worst.of {
			worst = other
		}
	}
	if more(worst, t, 1) <= 0 {
		return false
	}
	u.forget(worst)
	close(worst.sent)
	return true
}

// press gives t, which waits, its turn if there is one meanwhile, or makes a push give way where t has its turn then: the slowest of addresses that
// have more pushes under way than that of t. Nobody makes the operator give way.
func (u *uploads) press(t *turn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	u.serve(now)
	if !slices.Contains(u.waiting, t) || u.pool.Left()+1 <= u.spared(now, t) {
		return
	}
	slowest, least := (*turn)(nil), math.Inf(1)
	for other := range u.turns {
		rate, over := other.raw.progress(now)
		took := now.Sub(other.began)
		if !over && took >= yieldAfter && rate < min(enough(took), least) && u.gains(t, other) {
			slowest, least = other, rate
		}
	}
	victim, why := slowest, errYield
	if least >= fastEnough && slowest != nil {
		victim, why = u.greediest(now, t), errGreedy
	}
	if victim != nil {
		victim.raw.yield(why)
	}
}

// greediest returns the push that began last of the party that had turns for longest, where the one of t had them for no longer; else nil. The
// caller holds mu.
func (u *uploads) greediest(now time.Time, t *turn) (newest *turn) {
	had := map[string]float64{t.party: 0}
	for other := range u.turns {
		had[other.party] += bucket.Lately(now.Sub(other.began))
	}
	for party := range had {
		had[party] += float64(u.had.Seconds(now, party))
	}
	most := had[t.party]
	for other := range u.turns {
		if _, over := other.raw.progress(now); over || !u.gains(t, other) || had[other.party] < most {
			continue
		}
		if newest == nil || had[other.party] > most || other.began.After(newest.began) {
			newest, most = other, had[other.party]
		}
	}
	return newest
}

// gains reports whether t could have the turn of other, of an address with more pushes under way. A network that has as many turns as it may have
// gains nothing by those of others. The caller holds mu.
func (u *uploads) gains(t, other *turn) bool {
	return other.of != nil && u.running[other.of] > u.running[t.of] && (!t.bound || t.party == other.party)
}

// spared returns how many turns are left for others when t gets one. The caller holds mu.
func (u *uploads) spared(now time.Time, t *turn) int64 {
	if t.party == "" {
		return 0
	}
	for other := range u.turns {
		if other.party == t.party {
			return u.pool.Total / sparePart
		}
	}
	if u.had.Seconds(now, t.party) >= spareAfter {
		return u.pool.Total / sparePart
	}
	return 0
}

// forget takes a turn out of those that wait, and reports whether it waited. The caller holds mu.
func (u *uploads) forget(t *turn) bool {
	i := slices.Index(u.waiting, t)
	if i >= 0 {
		u.waiting = slices.Delete(u.waiting, i, i+1)
	}
	return i >= 0
}

// grant gives the client its turn if the pool has one for its address, and reports whether it did. The caller holds mu.
func (u *uploads) grant(t *turn) bool {
	now := time.Now()
	spared := u.pool.Left() <= u.spared(now, t)
	g, why := u.pool.Take(t.of.Party(), 1)
	t.bound = why == fair.OverAddress
	if why == fair.Granted && spared {
		g.GiveBack()
		why = fair.OverAll
	}
	if t.whole && why != fair.Granted {
		g, why = u.beside.Take(t.of.Party(), 1)
	}
	if why != fair.Granted {
		return false
	}
	t.grant, t.began = g, now
	u.running[t.of]++
	u.turns[t] = struct{}{}
	close(t.granted)
	return true
}

// has reports whether the client has its turn. A nil turn, for a push that needs none, counts as one that it has.
func (t *turn) has() bool {
	if t == nil {
		return true
	}
	select {
	case <-t.granted:
		return true
	default:
		return false
	}
}

// leave ends a turn, or the wait for it.
func (u *uploads) leave(t *turn) {
	if t == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if t.grant == nil {
		u.forget(t)
		return
	}
	t.grant.GiveBack()
	delete(u.turns, t)
	now := time.Now()
	if t.party != "" {
		u.had.Add(now, t.party, now.Sub(t.began))
	}
	if u.running[t.of]--; u.running[t.of] == 0 {
		delete(u.running, t.of)
	}
	u.serve(now)
}

// serve gives a turn to the first of those that wait who may have one. The caller holds mu.
func (u *uploads) serve(now time.Time) {
	order := slices.Clone(u.waiting)
	slices.SortStableFunc(order, func(a, b *turn) int {
		return cmp.Or(u.running[a.of]-u.running[b.of], u.had.Seconds(now, a.party)-u.had.Seconds(now, b.party))
	})
	for _, next := range order {
		if u.grant(next) {
			u.forget(next)
			return
		}
	}
}

// queued returns how many turns wait.
func (u *uploads) queued() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.waiting)
}
