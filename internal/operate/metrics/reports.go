package metrics

import "context"

// queue is how many reports are open, and about how many subjects.
type queue struct{ reports, subjects int }

// ofReports adds the figures of reports that nobody has decided about.
func ofReports(c *collector, from Reports) {
	part(c, func(context.Context) queue {
		var q queue
		if from != nil {
			for _, x := range from.Open() {
				q.reports, q.subjects = q.reports+x.Reports, q.subjects+1
			}
		}
		return q
	},
		gauge(c, "graspd_reports_open", "Reports (NIP-56) about what is here that the operator has neither acted on nor dismissed.", func(q queue) int64 { return int64(q.reports) }),
		gauge(c, "graspd_reports_subjects", "Authors, repositories and events that open reports (NIP-56) are about.", func(q queue) int64 { return int64(q.subjects) }),
	)
}
