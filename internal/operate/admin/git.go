package admin

import "github.com/graspd/graspd/internal/status"

// hostFacts returns the figures of hosting.
func hostFacts(g status.Git) []fact {
	facts := []fact{
		{"", "repositories with data", number(uint64(max(0, g.Repositories)))}, {"", "on the disk", g.Bytes.String()},
		{"", "pushes under way", number(uint64(max(0, g.Pushes)))}, {"", "fetches under way", number(uint64(max(0, g.Fetches)))},
		{"", "events that wait", number(uint64(max(0, g.Waiting)))}, {"", "uploads that wait", number(uint64(max(0, g.Uploads)))},
	}
	if s := g.Sync; s != nil {
		facts = append(facts, fact{"", "repositories that lack git data", number(uint64(max(0, s.Lacking)))},
			fact{"", "fetches from other servers", number(uint64(max(0, s.Fetching)))}, fact{"", "events that these completed", number(s.Brought)})
		if s.Looked < s.ToLook {
			facts = append(facts, fact{"", "repositories checked for what they lack", number(uint64(s.Looked)) + " of " + number(uint64(s.ToLook))})
		}
	}
	return facts
}
