package hosting

import (
	"sync"

	"github.com/graspd/graspd/internal/protocol/nip34"
)

// unknownPayer is who has git's processes work for copies of which nobody knows who pushed, as after a start. It is one party, whoever the owners
// are: keys cost nothing.
const unknownPayer = "copies between repositories"

// payers knows who pushed what is to be copied.
type payers struct {
	mu sync.Mutex
	of map[nip34.Address]string // the network that pushed last, until its copies are made
}

func (p *payers) init() { p.of = map[nip34.Address]string{} }

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

// who returns with whom a copy takes turns.
func (p *payers) who(x job) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if by := p.of[x.of]; by != "" {
		return by
	}
	return "owner " + x.of.PubKey.String()
}

// copied forgets who pays for a repository of which everything is copied.
func (p *payers) copied(of nip34.Address, by string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[of] == by {
		delete(p.of, of)
	}
}
