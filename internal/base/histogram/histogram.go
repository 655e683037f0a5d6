// Package histogram counts how long pieces of work took, in classes, so that it can be told how slow most of them are and how slow
// the slowest.
package histogram

import "time"

// Bounds are the upper bounds of the classes; the last class has none.
var Bounds = [...]time.Duration{
	5 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute,
}

// Counts are how many pieces of work took how long. The zero value is that of none. Whoever has it guards it.
type Counts struct {
	Classes [len(Bounds) + 1]uint64
	Sum     time.Duration
}

// Add counts one. A clock that was set back makes it one that took no time.
func (c *Counts) Add(took time.Duration) {
	took = max(0, took)
	class := 0
	for class < len(Bounds) && took > Bounds[class] {
		class++
	}
	c.Classes[class]++
	c.Sum += took
}

// Seconds are the bounds, in seconds.
func Seconds() []float64 {
	out := make([]float64, len(Bounds))
	for i, d := range Bounds {
		out[i] = d.Seconds()
	}
	return out
}
