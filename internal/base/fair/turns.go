package fair

// Turns has things that wait for a turn. Parties have turns one after the other, and the things of a party in the order in which they came: so
// a party of which much waits keeps nobody waiting for longer than one of which little does. Whoever pushes bounds how much waits. The zero
// Turns is empty. One goroutine at a time may use it.
type Turns[P comparable, T any] struct {
	parties []P // in the order of their turns
	waiting map[P][]T
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
	p = t.parties[0]
	clear(t.parties[:1])
	t.parties = t.parties[1:]
	return p, t.waiting[p]
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
