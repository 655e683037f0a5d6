package gitproc

// Press has what runs give way to a party that has waited for long.
func (g *Git) Press(k Kind, party string) {
	s := g.kinds[k].slots
	w := &waiter{work: work{party: party}}
	waiting := func(all ...*waiter) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting[party] = all
	}
	waiting(w)
	s.press(w)
	waiting()
}
