package safetext

import "fmt"

// Number returns a number and what it counts: "1 relay", "2 relays". one and more are the word for one and for any other number.
func Number[N ~int | ~int64 | ~uint64](n N, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
