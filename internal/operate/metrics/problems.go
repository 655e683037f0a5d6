package metrics

import "context"

// ofProblems adds how much the operator should mend.
func ofProblems(c *collector, look func(context.Context) []string) {
	part(c, func(ctx context.Context) (n int) {
		if look != nil {
			n = len(look(ctx))
		}
		return n
	},
		gauge(c, "graspd_problems", "Problems that the operator should mend; /problems.json and graspd status say which.", func(n int) int64 { return int64(n) }),
	)
}
