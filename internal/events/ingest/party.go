package ingest

// party stands behind one or several sources: an owner, say, who alone names several relays. The sources of a party together have the
// turns, the places and the share of the orphan buffer that a single source has.
type party struct {
	name string // "" for the party of a single source

	// Guarded by Door.mu.
	sources int // open sources
	places  int // places that the events of all sources take
	bytes   int
	large   bool          // a large event of the party is undecided
	room    chan struct{} // closed when places become free; nil while nobody waits for one
}

// memberPart is the part, one in so many, of a party's places that each of its sources has to itself, beside the places for all. So no
// source of a party can keep another one out.
const memberPart = 32

// charge counts places and bytes as taken, or as given back where they are negative. The caller holds Door.mu.
func (p *party) charge(places, bytes int) {
	p.places += places
	p.bytes += bytes
	if places <= 0 {
		p.wake()
	}
}

// wake makes everybody who waits for a place of the party look again. The caller holds Door.mu.
func (p *party) wake() {
	if p.room != nil {
		close(p.room)
		p.room = nil
	}
}

// Join moves the source, with the places that its events take, into the party of that name. The sources of a party together have the
// turns, the places and the share of the orphan buffer of a single source. "" makes the source a party of its own again. Join does
// nothing after Close.
func (s *Source) Join(name string) {
	d := s.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.closed || name == s.party.name {
		return
	}
	old := s.party
	old.charge(-s.places, -s.bytes)
	d.leaveParty(s)
	s.party = d.joinParty(name)
	s.party.charge(s.places, s.bytes)
	old.wake()
}

// joinParty returns the party of that name, and counts one more source in it. The caller holds mu.
func (d *Door) joinParty(name string) *party {
	if name == "" {
		return &party{}
	}
	p := d.parties[name]
	if p == nil {
		p = &party{name: name}
		d.parties[name] = p
	}
	p.sources++
	return p
}

// leaveParty takes the source out of its party. Its undecided events still count for the party. The caller holds mu.
func (d *Door) leaveParty(s *Source) {
	if s.party.name != "" {
		s.party.sources--
		d.forgetParty(s.party)
	}
}

// forgetParty drops a party that has no source and no place any more. The caller holds mu.
func (d *Door) forgetParty(p *party) {
	if p.name != "" && p.sources == 0 && p.places == 0 {
		delete(d.parties, p.name)
	}
}
