package refs

import (
	"time"

	"github.com/graspd/graspd/internal/nip34"
)

const hour = int64(time.Hour / time.Second)

// tally is what some uploads hold, and how many tips were begun within the last hour, whatever became of them.
type tally struct {
	tips  int
	begun int
	bytes int64
}

// tallies are what the uploads of a repository, of an address, and all hold.
type tallies struct {
	at    map[nip34.Address]tally
	from  map[string]tally
	all   tally
	begun []beginning // within an hour of the last one, in order
}

type beginning struct {
	at   int64
	from string
	tips int
}

// room says what stands against one more tip beside those already taken from the same push.
func (p *Pending) room(now int64, of nip34.Address, from string, taken int) Cause {
	if taken >= MaxPushTips {
		return PendingPush
	}
	if p == nil {
		return None
	}
	at, by, all := p.at[of], p.from[from], p.all
	for _, b := range p.begun {
		if b.at > now-hour {
			break
		}
		all.begun -= b.tips
		if b.from == from {
			by.begun -= b.tips
		}
	}
	switch {
	case at.tips+taken >= MaxRepositoryTips || at.bytes >= MaxRepositoryBytes:
		return PendingRepository
	case by.begun+taken >= MaxAddressTips || by.bytes >= MaxAddressBytes:
		return PendingAddress
	case all.tips+taken >= MaxTips || all.begun+taken >= MaxHourTips || all.bytes >= MaxPendingBytes:
		return PendingAll
	}
	return None
}

// tooMuch says which bound the bytes of an upload break, with others or alone.
func (t *tallies) tooMuch(u *upload) Cause {
	switch {
	case t.at[u.of].bytes > MaxRepositoryBytes:
		return PendingRepository
	case t.from[u.from].bytes > MaxAddressBytes:
		return PendingAddress
	case t.all.bytes > MaxPendingBytes:
		return PendingAll
	}
	return None
}

// count adds to what the repository and the address of an upload hold, and all.
func (t *tallies) count(u *upload, d tally) {
	if t.at == nil {
		t.at, t.from = map[nip34.Address]tally{}, map[string]tally{}
	}
	t.all = t.all.plus(d)
	put(t.at, u.of, d)
	put(t.from, u.from, d)
}

// begin counts tips within the hour, and lets go of those before it.
func (t *tallies) begin(now int64, from string, tips int) {
	for len(t.begun) > 0 && t.begun[0].at <= now-hour {
		t.hour(t.begun[0].from, -t.begun[0].tips)
		t.begun = t.begun[1:]
	}
	t.begun = append(t.begun, beginning{now, from, tips})
	t.hour(from, tips)
}

func (t *tallies) hour(from string, tips int) {
	t.all.begun += tips
	put(t.from, from, tally{begun: tips})
}

func (t tally) plus(d tally) tally {
	return tally{t.tips + d.tips, t.begun + d.begun, t.bytes + d.bytes}
}

// put adds to one of several tallies, and keeps none that is empty.
func put[K comparable](m map[K]tally, k K, d tally) {
	if sum := m[k].plus(d); sum != (tally{}) {
		m[k] = sum
	} else {
		delete(m, k)
	}
}
