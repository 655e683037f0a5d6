package admin

import "graspd/internal/status"

// hostFacts are the figures of hosting.
func hostFacts(g status.Git) []fact {
	return []fact{
		{"repositories with data", number(uint64(max(0, g.Repositories)))}, {"on the disk", g.Bytes.String()},
		{"pushes under way", number(uint64(max(0, g.Pushes)))}, {"fetches under way", number(uint64(max(0, g.Fetches)))},
		{"events that wait", number(uint64(max(0, g.Waiting)))}, {"uploads that wait", number(uint64(max(0, g.Uploads)))},
	}
}
