package status

// Column is one figure of a relay in the tables for people, on the operator's page and of the status command. Either Count or
// Ratio tells it.
type Column struct {
	Title, Hint string
	Bad         bool // more than 0 is worth a look
	Count       func(r *Relay) uint64
	Ratio       func(r *Relay) *float64 // 0 to 1; nil = not known
}

// Columns are those that both tables have, in their order.
func Columns() []Column {
	return []Column{
		{Title: "Gaps", Hint: "events that the live subscription should have brought", Bad: true, Count: func(r *Relay) uint64 { return r.Gaps }},
		{Title: "Uptime", Hint: "part of the time watched", Ratio: func(r *Relay) *float64 { return r.Uptime }},
		{Title: "Coverage", Hint: "how much of what is here the relay has", Ratio: func(r *Relay) *float64 { return r.Coverage }},
	}
}
