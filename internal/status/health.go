package status

// Health is how a relay has behaved since its last reset.
type Health string

// The states of health.
const (
	Healthy  Health = "healthy"
	Degraded Health = "degraded" // at least one failure since the last progress
	Dead     Health = "dead"     // failing without a break for a day
)

// number returns the state as a figure: 1 is healthy, 2 degraded, 3 dead.
func (h Health) number() float64 {
	switch h {
	case Degraded:
		return 2
	case Dead:
		return 3
	}
	return 1
}
