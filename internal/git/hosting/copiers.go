package hosting

import (
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// copyWorkers is how many copies are made at once, each for another payer: one that takes long holds up only who asked for it.
const copyWorkers = 4

// unknownPayer is who has git's processes work for copies of which nobody knows who pushed, as after a start. It is one party, whoever the owners
// are: keys cost nothing.
const unknownPayer = "copies between repositories"

// payers knows who pushed what is to be copied, and who had copies made lately.
type payers struct {
	mu   sync.Mutex
	of   map[nip34.Address]string // the network that pushed last, until its copies are made
	busy map[string]bool          // those for whom a copy is being made
	use  bucket.Usage[string]
}

func (p *payers) init() { p.of, p.busy = map[nip34.Address]string{}, map[string]bool{} }

// pushed notes who pays for the copies of a repository; "" is nobody. undo takes that back where nothing came of the push.
func (p *payers) pushed(of nip34.Address, network string) (undo func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.of[of]
	p.set(of, network)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.of[of] == network {
			p.set(of, before)
		}
	}
}

// set notes who pays for a repository. The caller holds mu.
func (p *payers) set(of nip34.Address, network string) {
	if network == "" {
		delete(p.of, of)
		return
	}
	p.of[of] = network
}

// party returns for whom git's processes work that copy from a repository.
func (p *payers) party(of nip34.Address) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if by := p.of[of]; by != "" {
		return by
	}
	return unknownPayer
}

// who returns with whom copies of a repository take turns. The caller holds mu.
func (p *payers) who(of nip34.Address) string {
	if by := p.of[of]; by != "" {
		return by
	}
	return "owner " + of.PubKey.String()
}

// copied forgets who pays for a repository of which everything is copied.
func (p *payers) copied(of nip34.Address, by string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[of] == by {
		delete(p.of, of)
	}
}

// choose returns which job is next: of those for whom no copy is being made, the first of who had copies made for the least time lately; -1 where
// there is none. done says that the job has ended.
func (p *payers) choose(now time.Time, list []job) (best int, done func(time.Time)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	best = -1
	least := 0
	for i, x := range list {
		who := p.who(x.of)
		if took := p.use.Seconds(now, who); !p.busy[who] && (best < 0 || took < least) {
			best, least = i, took
		}
	}
	if best < 0 {
		return best, nil
	}
	who := p.who(list[best].of)
	p.busy[who] = true
	return best, func(at time.Time) {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.busy, who)
		p.use.Add(at, who, at.Sub(now))
	}
}
