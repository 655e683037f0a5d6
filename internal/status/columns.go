package status

// Column is one figure of a relay in the tables for people, on the operator's page and of the status command. It has one of Of, Count and
// Ratio.
type Column struct {
	Title, Hint string
	Bad         bool                        // a figure above 0 is worth a look
	Of          func(r *Relay) (n, all int) // n of all
	Count       func(r *Relay) uint64       // how many
	Ratio       func(r *Relay) *float64     // 0 to 1; nil is not known
}

// Columns returns the columns that both tables have, in their order. Words explains them.
func Columns() []Column {
	return []Column{
		{Title: "Repositories", Hint: "complete here, of those that graspd wants from the relay", Of: func(r *Relay) (int, int) { return r.Confirmed.Repositories, r.Want.Repositories }},
		{Title: "Roots", Hint: "issues, patches and pull requests that are complete here, of those that graspd wants from the relay", Of: func(r *Relay) (int, int) { return r.Confirmed.Roots, r.Want.Roots }},
		{Title: "Events", Hint: "that the relay brought before anybody else did", Count: func(r *Relay) uint64 { return r.Events() }},
		{Title: "Gaps", Hint: "events that the live subscription should have brought", Bad: true, Count: func(r *Relay) uint64 { return r.Gaps }},
		{Title: "Uptime", Hint: "part of the time watched", Ratio: func(r *Relay) *float64 { return r.Uptime }},
		{Title: "Coverage", Hint: "how much of what is here the relay has", Ratio: func(r *Relay) *float64 { return r.Coverage }},
	}
}

// Text writes the figure of a relay for people. It writes whole numbers with number.
func (c Column) Text(r *Relay, number func(uint64) string) string {
	switch {
	case c.Of != nil:
		n, all := c.Of(r)
		return number(uint64(max(0, n))) + "/" + number(uint64(max(0, all)))
	case c.Count != nil:
		return number(c.Count(r))
	}
	if x := c.Ratio(r); x != nil {
		return Percent(*x)
	}
	return "-"
}

// Amiss reports whether the figure is worth a look.
func (c Column) Amiss(r *Relay) bool { return c.Bad && c.Count != nil && c.Count(r) > 0 }
