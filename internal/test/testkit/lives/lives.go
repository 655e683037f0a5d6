// Package lives says how many random lives a test lives.
package lives

import "flag"

var long = flag.Bool("long", false, "live all random lives, and not the first of them alone")

// Of returns all with -long, as in the gate, and few without. What few lives find stays the same from run to run.
func Of(few, all uint64) uint64 {
	if *long {
		return all
	}
	return few
}
