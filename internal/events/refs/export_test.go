package refs

// With is s after changes.
func With(s, changes Set) Set { return s.with(changes) }

// Differences are the names in which two sets differ.
func Differences(a, b Set, most int) (names []string, all int) {
	first, all := differences(a, b, most)
	for _, d := range first {
		if d.a != a.Get(d.name) || d.b != b.Get(d.name) {
			names = append(names, "wrong objects")
		}
		names = append(names, d.name)
	}
	return names, all
}

// Causes is how many causes there are.
const Causes = causes

// Remembered is how many things p holds in memory.
func Remembered(p *Pending) int {
	return len(p.uploads) + len(p.events) + len(p.at) + len(p.from) + len(p.begun)
}

// Next is when Expire will have something to do, 0 for never as things stand.
func (p *Pending) Next() (at int64) {
	if p == nil {
		return 0
	}
	for _, u := range p.uploads {
		if u.until != 0 && (at == 0 || u.until < at) {
			at = u.until
		}
	}
	return at
}
