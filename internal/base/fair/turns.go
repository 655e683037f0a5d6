package fair

// Turns has things that wait for a turn. Parties have turns one after the other, and the things of a party in the order in which they came: so
// a party of which much waits keeps nobody waiting for longer than one of which little does, and nor does one whose things are much work, where
// Charge says so. Whoever pushes bounds how much waits. The zero Turns is empty. One goroutine at a time may use it.
type Turns[P comparable, T any] struct {
	parties []P // in the order of their turns
	waiting map[P][]T
	owes    map[P]int // turns that a party has had beyond its own
}

// Bounds of what is known of parties that had more than their turns.
const (
	mostOwed   = 32   // turns of a party; more are forgiven
	mostOwners = 1024 // parties; all are forgiven rather than one more is noted
)

// Charge says that a turn of a party took as long as so many more turns: the party lets others who wait go first so many times. It owes them also
// while nothing of it waits, and owes nobody anything while it waits alone.
func (t *Turns[P, T]) Charge(p P, turns int) {
	if turns <= 0 {
		return
	}
	if t.owes == nil || t.owes[p] == 0 && len(t.owes) >= mostOwners {
		t.owes = make(map[P]int)
	}
	t.owes[p] = min(t.owes[p]+turns, mostOwed)
}

// Push has x wait behind what waits of its party.
func (t *Turns[P, T]) Push(p P, x T) {
	if t.waiting == nil {
		t.waiting = make(map[P][]T)
	}
	of := t.waiting[p]
	if len(of) == 0 {
		t.parties = append(t.parties, p)
	}
	t.waiting[p] = append(of, x)
}

// Pop takes out the first thing of the party whose turn it is; the zero value where nothing waits.
func (t *Turns[P, T]) Pop() (x T) {
	if len(t.parties) == 0 {
		return x
	}
	p, waiting := t.next()
	x = waiting[0]
	clear(waiting[:1])
	t.waitOn(p, waiting[1:])
	return x
}

// Turn gives take the party whose turn it is and all that waits of it, and has what take returns wait on, behind all other parties. Turn reports
// whether the party waits on. Something must be waiting; take must leave the Turns alone, and may change waiting.
func (t *Turns[P, T]) Turn(take func(p P, waiting []T) []T) (on bool) {
	p, waiting := t.next()
	return t.waitOn(p, take(p, waiting))
}

func (t *Turns[P, T]) next() (p P, waiting []T) {
	for {
		p = t.parties[0]
		clear(t.parties[:1])
		t.parties = t.parties[1:]
		if len(t.parties) == 0 || !t.letsPass(p) {
			return p, t.waiting[p]
		}
		t.parties = append(t.parties, p)
	}
}

// letsPass reports whether a party gives up its turn, which it owes.
func (t *Turns[P, T]) letsPass(p P) bool {
	n := t.owes[p]
	switch {
	case n == 0:
		return false
	case n == 1:
		delete(t.owes, p)
	default:
		t.owes[p] = n - 1
	}
	return true
}

func (t *Turns[P, T]) waitOn(p P, rest []T) bool {
	if len(rest) > 0 {
		t.waiting[p] = rest
		t.parties = append(t.parties, p)
		return true
	}
	delete(t.waiting, p) // the map keeps room for as many parties as have waited at once
	if len(t.parties) == 0 {
		t.parties = nil
	}
	return false
}

// Parties returns the parties that wait, in the order of their turns, until the next change.
func (t *Turns[P, T]) Parties() []P { return t.parties }

// Waiting returns what waits of a party, in order, until the next change.
func (t *Turns[P, T]) Waiting(p P) []T { return t.waiting[p] }
