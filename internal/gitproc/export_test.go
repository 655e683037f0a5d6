package gitproc

// Press has what runs give way to a party that has waited for long.
func (g *Git) Press(k Kind, party string) { g.kinds[k].slots.press(&waiter{work: work{party: party}}) }
